"""The environment in which tests run the program: it sees nothing that the user has configured or installed."""
import os

# Variables that tell the program, or a test, of other things on the machine.
OTHERS = ("PALIMPSEST_", "OLLAMA_", "HF_", "XDG_CACHE_HOME")


def own_environment(folder):
    """That of this process, with every folder that the program looks into below `folder`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OTHERS) or k.startswith("PALIMPSEST_TEST")}
    return {**kept, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder,
            "OLLAMA_MODELS": os.path.join(folder, ".ollama", "models")}  # or the system-wide one is looked into
