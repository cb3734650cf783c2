"""The environment in which tests run the program: without the user's configuration and installed models."""
import os

# Variables that point the program, or a test, at other things on the machine.
OTHERS = ("PALIMPSEST_", "OLLAMA_", "HF_", "XDG_CACHE_HOME")


def own_environment(folder):
    """Returns this process's environment, with every folder that the program searches below `folder`, in English."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OTHERS) or k.startswith("PALIMPSEST_TEST")}
    return {**kept, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder, "LC_ALL": "C.UTF-8",
            "PALIMPSEST_RANK_SECONDS": "0",  # what is ranked in a time depends on the machine
            "OLLAMA_MODELS": os.path.join(folder, ".ollama", "models")}  # otherwise the system-wide folder is searched
