"use strict";
const folds = [...document.querySelectorAll("main details")];
const unfold = document.getElementById("unfold");
const openAll = (open, only = folds) => only.forEach((fold) => { fold.open = open; });
if (unfold) {
  unfold.hidden = folds.length === 0;
  unfold.addEventListener("click", () => {
    const open = unfold.textContent === "Unfold all";
    openAll(open);
    unfold.textContent = open ? "Fold all" : "Unfold all";
  });
}
let closed = [];
addEventListener("beforeprint", () => {
  closed = folds.filter((fold) => !fold.open && !fold.classList.contains("raw"));
  openAll(true, closed);
});
addEventListener("afterprint", () => openAll(false, closed));
function openTarget() {
  const fold = location.hash && document.getElementById(location.hash.slice(1))?.querySelector("details.part");
  if (fold) fold.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
