"""What pyproject.toml cannot say: a wheel holds the app beside the library, as the folder dpsyn/bundle."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

BUNDLED = (
    "app.py",
    ".streamlit/config.toml",
    "pages/*.py",
    "sample_data/*.csv",
    "sample_data/*.json",
    "docs/*.md",
    "docs/images/lessons/*",
)


class BuildWithApp(build_py):
    """Copies the app's files; an editable install finds them in the checkout."""

    def run(self) -> None:
        """Build the modules, then copy."""
        super().run()
        if self.editable_mode:
            return
        bundle = Path(self.build_lib) / "dpsyn" / "bundle"
        shutil.rmtree(bundle, ignore_errors=True)
        for file in (file for pattern in BUNDLED for file in Path().glob(pattern)):
            (bundle / file.parent).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, bundle / file)


setup(cmdclass={"build_py": BuildWithApp})
