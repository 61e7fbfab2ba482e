"""A real browser without a screen, for the live page: Debian's chromium, driven by selenium. It reaches this machine alone."""
import shutil


def missing():
    """What is not there, as words for a skip; "" where all is."""
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        return "chromium and chromium-driver (scripts/setup watching)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "python3-selenium (scripts/setup watching)"
    return ""


class Browser:
    def __init__(self, test, width=1280, height=900, dark=False):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                     f"--user-data-dir={test.path('browser')}", "--lang=en"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = Service(shutil.which("chromedriver"), env={"PATH": "/usr/bin:/bin", "HOME": test.dir})
        self.driver = webdriver.Chrome(options=options, service=service)
        test.addCleanup(self.driver.quit)
        self.resize(width, height)
        if dark:
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})

    def resize(self, width, height):
        """Of what the page sees, narrower than a window can be."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def open(self, address):
        self.driver.get(address)

    def text(self, element):
        return self.driver.execute_script("return document.getElementById(arguments[0]).innerText", element)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def errors(self):
        """What the console shows that is worse than information."""
        return [e for e in self.driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]

    def picture(self, path):
        """The whole page."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return document.documentElement.clientWidth")
        self.resize(width, height)
        self.driver.save_screenshot(path)
