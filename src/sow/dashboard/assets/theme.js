// Runs before the first paint, so that a page in the chosen theme never flashes in the other.
(() => {
  try {
    const chosen = localStorage.getItem("sow-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing shows the theme of the system.
  }
})();
