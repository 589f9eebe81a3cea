// Light, dark, or what the system says; remembered for this browser, and the one thing that is.

const KEY = "memnet.theme";
const THEMES = ["auto", "light", "dark"];

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser that lets pages remember nothing
  }
}

/** Apply the remembered theme and follow the control. */
export function startTheme(control) {
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    control.value = theme;
  };
  apply(THEMES.includes(stored()) ? stored() : "auto");
  control.addEventListener("change", () => {
    apply(control.value);
    try {
      localStorage.setItem(KEY, control.value);
    } catch {
      // It holds until the page is left.
    }
  });
}
