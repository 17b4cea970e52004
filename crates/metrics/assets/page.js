// Asks what is under way once a second, and has it shown.

import { showArray } from "./array.js";
import { showRun } from "./run.js";
import { say } from "./parts.js";

const EVERY_MS = 1000;
const PATIENCE_MS = 5000;
const VIEWS = { array: showArray, run: showRun };

const main = document.getElementById("main");
const link = document.getElementById("link");
const pause = document.getElementById("pause");
let shown = null;
let state = null;
let isPaused = false;
let answeredAt = null;

function show() {
  const view = VIEWS[state.kind];
  if (shown !== state.kind) {
    main.replaceChildren(document.getElementById(state.kind).content.cloneNode(true));
    shown = state.kind;
  }
  view(state);
}

async function ask() {
  try {
    const answer = await fetch("/state.json", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    state = await answer.json();
    answeredAt = new Date();
    show();
    document.body.classList.remove("is-lost");
    say(link, isPaused ? "Paused" : "Live, once a second");
  } catch (error) {
    document.body.classList.add("is-lost");
    const since = answeredAt ? `since ${answeredAt.toLocaleTimeString()}` : "yet";
    say(link, `No answer ${since}; what is below may be old. Trying again …`);
  }
}

async function goOn() {
  if (!isPaused) await ask();
  setTimeout(goOn, EVERY_MS);
}

pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  say(link, isPaused ? "Paused" : "Live, once a second");
});
// Drawings are as wide as there is room.
addEventListener("resize", () => state && show());
goOn();
