//! Driving a load on real devices with io_uring.
