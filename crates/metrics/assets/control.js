// What `ctl` can do, for whoever has the token.

import { element, say } from "./parts.js";

const KEPT = "arraylab-token";
let token = sessionStorage.getItem(KEPT);
let place = null;
let forms = [];
let said = null;

async function send(words) {
  const answer = await fetch("/control", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Arraylab-Token": token },
    body: JSON.stringify({ words }),
  });
  if (answer.ok) return answer.json();
  const text = await answer.text();
  let why = text.trim();
  try {
    why = JSON.parse(text).error ?? why;
  } catch {
    // A refusal without a reason of its own is its status.
  }
  throw Object.assign(new Error(why), { status: answer.status });
}

function tell(text, isProblem) {
  say(said, text);
  said.className = isProblem ? "problem" : "done";
}

function asked(question) {
  const dialog = element("dialog", { "aria-labelledby": "question" });
  const no = element("button", { type: "button" }, "No");
  const yes = element("button", { type: "button", class: "harmful" }, "Yes, do it");
  dialog.append(element("p", { id: "question" }, question), element("p", {}, no, " ", yes));
  document.body.append(dialog);
  return new Promise((resolve) => {
    no.addEventListener("click", () => dialog.close("no"));
    yes.addEventListener("click", () => dialog.close("yes"));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    dialog.showModal();
    no.focus();
  });
}

// What is typed, by kind of argument; the others are chosen.
const TYPED = {
  number: { inputmode: "numeric", pattern: "[0-9]+", size: "6" },
  size: { placeholder: "64m", size: "8" },
  "new-volume": { placeholder: "a new name", size: "12", autocomplete: "off", spellcheck: "false" },
};

function argumentField(verb, argument) {
  const id = `${verb.name}-${argument.key}`;
  const typed = TYPED[argument.kind];
  const field = typed
    ? element("input", { id, type: "text", ...typed })
    : element("select", { id, "data-kind": argument.kind, ...(argument.is_optional ? { "data-optional": "" } : {}) });
  field.required = !argument.is_optional;
  const label = argument.is_optional ? `${argument.key} (may be left out)` : argument.key;
  return [element("label", { for: id }, label), field];
}

function formOf(verb, choices) {
  const form = element("form", { class: "verb", "data-verb": verb.name });
  const isThere = (argument) => argument.kind in TYPED || !argument.is_optional || (choices[argument.kind] ?? []).length > 0;
  const fields = verb.arguments.filter(isThere).map((argument) => [...argumentField(verb, argument), argument]);
  if (verb.pairs) {
    const id = `${verb.name}-pairs`;
    const field = element("input", { id, type: "text", placeholder: verb.pairs, autocomplete: "off", spellcheck: "false", size: "26" });
    field.required = true;
    const isSettings = verb.pairs.startsWith("SETTING");
    fields.push([element("label", { for: id }, isSettings ? "settings" : "values"), field]);
    if (isSettings) {
      field.setAttribute("list", `${id}-list`);
      const known = choices.setting ?? [];
      form.append(element("datalist", { id: `${id}-list` }, ...known.map(([name, takes]) => new Option(takes, `${name}=`))));
    }
  }
  const button = element("button", { type: "submit" }, verb.name.replaceAll("-", " "));
  if (verb.is_harmful) button.className = "harmful";
  form.append(element("p", { class: "does" }, verb.does), ...fields.map(([label, field]) => element("span", { class: "field" }, label, field)), button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    // What may be left out is named, so that what follows it keeps its place.
    const typed = ([, field, argument]) => field.value.trim().split(/\s+/).filter((word) => word !== "").map((word) => (argument?.is_optional ? `${argument.key}=${word}` : word));
    const words = [verb.name, ...fields.flatMap(typed)];
    if (verb.is_harmful && !(await asked(`${words.join(" ")}: ${verb.does}. Do it?`))) return;
    tell(`${words.join(" ")} …`, false);
    try {
      await send(words);
      tell(`${words.join(" ")}: done`, false);
    } catch (error) {
      tell(`${words.join(" ")}: ${error.message}`, true);
      if (error.status === 401) lock();
    }
  });
  return form;
}

function lock() {
  token = null;
  sessionStorage.removeItem(KEPT);
  forms = [];
  place.querySelector("#verbs").replaceChildren();
  place.querySelector("#unlock").hidden = false;
  place.querySelector("#lock").hidden = true;
}

async function unlock(shownToken, isTyped) {
  token = shownToken;
  try {
    await send(["ready"]);
    sessionStorage.setItem(KEPT, token);
    place.querySelector("#unlock").hidden = true;
    place.querySelector("#lock").hidden = false;
    tell(isTyped ? "The token is right." : "", false);
    return true;
  } catch (error) {
    lock();
    if (isTyped) tell(error.status === 401 ? "That is not the token." : error.message, true);
    return false;
  }
}

function build(section) {
  place = section;
  const field = element("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", size: "32" });
  field.required = true;
  const form = element(
    "form",
    { id: "unlock" },
    element("p", { id: "about-token" }, "Changes need the token: the line in the file that was named when serving began."),
    element("label", { for: "token" }, "Token"),
    " ",
    field,
    " ",
    element("button", { type: "submit" }, "Show the buttons"),
  );
  field.setAttribute("aria-describedby", "about-token");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await unlock(field.value.trim(), true);
    field.value = "";
  });
  const leave = element("button", { type: "button", id: "lock" }, "Forget the token");
  leave.hidden = true;
  leave.addEventListener("click", () => {
    lock();
    tell("The token is forgotten.", false);
    field.focus();
  });
  said = element("p", { id: "said", role: "status" });
  section.append(form, element("div", { id: "verbs" }), said, leave);
  if (token) unlock(token, false);
}

// Choices that have not changed are left alone: somebody may be choosing.
function offer(choices) {
  for (const select of place.querySelectorAll("select[data-kind]")) {
    const none = "optional" in select.dataset ? [["", "–"]] : [];
    const offered = [...none, ...(choices[select.dataset.kind] ?? [])];
    const same = offered.length === select.options.length && offered.every(([value, text], index) => select.options[index].value === value && select.options[index].text === text);
    if (same) continue;
    const chosen = select.value;
    select.replaceChildren(...offered.map(([value, text]) => new Option(text, value)));
    if (offered.some(([value]) => value === chosen)) select.value = chosen;
  }
}

export function showControl(section, state) {
  if (section !== place) build(section);
  const isOpen = token !== null && place.querySelector("#unlock").hidden;
  if (isOpen && forms.length === 0) {
    const possible = state.verbs.filter((verb) =>
      verb.arguments.every((argument) => argument.kind in TYPED || argument.is_optional || (state.choices[argument.kind] ?? []).length > 0),
    );
    forms = possible.map((verb) => formOf(verb, state.choices));
    place.querySelector("#verbs").replaceChildren(...forms);
  }
  if (isOpen) offer(state.choices);
}
