"""Gives sockets of an NBD server to the kernel's client, as nbd-client does, and new ones to a device whose server has come back, which
nbd-client cannot.

    nbd_sockets.py connect NUMBER PORT CONNECTIONS      /dev/nbdNUMBER, whose I/O waits for 120 s when all connections are lost
    nbd_sockets.py reconnect NUMBER PORT CONNECTIONS

Sources: doc/proto.md of the NBD project, linux/nbd-netlink.h, linux/genetlink.h.
"""

import socket
import struct
import sys

DEAD_CONNECTION_TIMEOUT_S = 120
NETLINK_GENERIC, NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 16, 1, 4, 2
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
COMMANDS = {"connect": 1, "reconnect": 3}
NBD_ATTR_INDEX, NBD_ATTR_SIZE_BYTES, NBD_ATTR_BLOCK_SIZE_BYTES, NBD_ATTR_SERVER_FLAGS = 1, 2, 3, 5
NBD_ATTR_SOCKETS, NBD_ATTR_DEAD_CONN_TIMEOUT, NBD_SOCK_ITEM, NBD_SOCK_FD = 7, 8, 1, 1
NLA_F_NESTED = 0x8000


def receive(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        assert more, "the server hung up"
        data += more
    return data


def open_export(port):
    """A connection in transmission phase, with the size and the flags of the default export."""
    connection = socket.create_connection(("127.0.0.1", port))
    magic, flags = receive(connection, 16), struct.unpack(">H", receive(connection, 2))[0]
    assert magic == b"NBDMAGICIHAVEOPT", magic
    go = struct.pack(">IH", 0, 0)
    connection.sendall(struct.pack(">I", flags & 3) + b"IHAVEOPT" + struct.pack(">II", 7, len(go)) + go)
    while True:
        _, option, kind, length = struct.unpack(">QIII", receive(connection, 20))
        data = receive(connection, length)
        assert option == 7 and kind < 0x80000000, (option, kind, data)
        if kind == 3 and data[:2] == b"\0\0":
            size, transmission = struct.unpack(">QH", data[2:12])
        if kind == 1:
            return connection, size, transmission


def attribute(kind, value):
    data = struct.pack("=HH", len(value) + 4, kind) + value
    return data + b"\0" * (-len(data) % 4)


def call(netlink, family, command, attributes):
    body = struct.pack("=BBH", command, 1, 0) + attributes
    netlink.send(struct.pack("=IHHII", len(body) + 16, family, NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
    answer = b""
    while True:
        message = netlink.recv(65536)
        kind = struct.unpack("=H", message[4:6])[0]
        if kind == NLMSG_ERROR:
            error = struct.unpack("=i", message[16:20])[0]
            assert error == 0, f"the kernel answers {error}"
            return answer
        answer = message[20:]


def family_of(netlink, name):
    answer = call(netlink, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, name + b"\0"))
    while answer:
        length, kind = struct.unpack("=HH", answer[:4])
        if kind == CTRL_ATTR_FAMILY_ID:
            return struct.unpack("=H", answer[4:6])[0]
        answer = answer[(length + 3) & ~3 :]
    raise AssertionError(f"the kernel has no {name}")


def main():
    command, number, port, connections = sys.argv[1], *map(int, sys.argv[2:])
    opened = [open_export(port) for _ in range(connections)]
    _, size, flags = opened[0]
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sockets = b"".join(
        attribute(NBD_SOCK_ITEM | NLA_F_NESTED, attribute(NBD_SOCK_FD, struct.pack("=I", one.fileno()))) for one, _, _ in opened
    )
    attributes = attribute(NBD_ATTR_INDEX, struct.pack("=I", number))
    if command == "connect":
        attributes += attribute(NBD_ATTR_SIZE_BYTES, struct.pack("=Q", size))
        attributes += attribute(NBD_ATTR_BLOCK_SIZE_BYTES, struct.pack("=Q", 512))
        attributes += attribute(NBD_ATTR_SERVER_FLAGS, struct.pack("=Q", flags))
    attributes += attribute(NBD_ATTR_DEAD_CONN_TIMEOUT, struct.pack("=Q", DEAD_CONNECTION_TIMEOUT_S))
    attributes += attribute(NBD_ATTR_SOCKETS | NLA_F_NESTED, sockets)
    call(netlink, family_of(netlink, b"nbd"), COMMANDS[command], attributes)


main()
