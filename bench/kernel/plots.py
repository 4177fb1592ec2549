"""Windows and round trips over time, the simulator's over the kernel's: what `validate.py --plots DIR` draws."""

import itertools
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

# Two colours that differ for every eye (Okabe and Ito), and by their width.
KERNEL = {"color": "#56B4E9", "linewidth": 2.6, "label": "kernel"}
SIMULATED = {"color": "#000000", "linewidth": 0.8, "label": "simulator"}
plt.rcParams.update({
    "font.size": 8,
    "svg.hashsalt": "bentpipe",
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify_threshold": 0.5,
})


def draw(folder, runs):
    """A figure for each link and queue; `runs` are points with the runs of both sides."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    plain = [run for run in runs if run[0].is_plain()]
    for (link, queue, paced), group in itertools.groupby(plain, key=lambda run: (run[0].link, run[0].bdp, run[0].is_paced())):
        name = f"kernel-{link}-{queue:g}-bdp{'-paced' if paced else ''}.svg".lower().replace(" ", "-").replace("/", "")
        figure(f"{link}, {queue:g} BDP, clean, seed 1", list(group), folder / name)


def figure(title, group, path):
    """The window above, the round trip below, and a column for each controller."""
    fig, axes = plt.subplots(2, len(group), figsize=(3.2 * len(group), 3.8), sharex=True, squeeze=False)
    for column, (point, ours, kernels) in enumerate(group):
        for row, (index, scale, label) in enumerate(((1, 1, "cwnd, segments"), (2, 1e3, "smoothed round trip, ms"))):
            axis = axes[row][column]
            for run, style in ((kernels[0][0], KERNEL), (ours[0][0], SIMULATED)):
                states = [state for state in run["states"] if state[index]]
                axis.plot([state[0] for state in states], [scale * state[index] for state in states], **style)
            axis.set_ylim(bottom=0)
            axis.set_ylabel(label if column == 0 else "")
        axes[0][column].set_title(point.controls[0])
        axes[1][column].set_xlabel("time, s")
    axes[0][0].legend(frameon=False)
    fig.suptitle(title)
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None, "Title": title})
    plt.close(fig)
