"""``dsctl bench``: measure a live run."""

from __future__ import annotations

from typing import Annotated

import typer

from dsctl.cli.options import JsonOpt, QuietOpt, RunArg


def bench(
    run: RunArg = None,
    rate: Annotated[str, typer.Option("--rate", help="Requests per second, one step each: 1,2,4.")] = "",
    duration: Annotated[str, typer.Option(help="Length of a step: 15s, 2m.")] = "",
    warmup: Annotated[str, typer.Option(help="Load before each step that is not measured.")] = "",
    arrivals: Annotated[str, typer.Option(help="poisson or constant.")] = "",
    prompt_tokens: Annotated[int, typer.Option(help="Tokens of each prompt.", min=0)] = 0,
    shared_ratio: Annotated[float, typer.Option(help="Part of the prompt all requests share; 0 to 1.")] = -1,
    output_tokens: Annotated[int, typer.Option(help="Tokens of each answer.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Same seed, same prompts and arrivals.")] = -1,
    slo: Annotated[str, typer.Option(help="Exit 8 on a miss: ttft_p95=2s,itl_p99=80ms,error_rate=1%.")] = "",
    as_json: JsonOpt = False,
    quiet: QuietOpt = False,
) -> None:
    """Sweep the load over a live run: TTFT, ITL, asked against delivered, and how much of the prompts was reused.

    What is not given comes from the run's profile.

    Example: dsctl bench --rate 1,2,4 --slo ttft_p95=2s
    """
    from dsctl.flow.bench import bench_row, changes_of
    from dsctl.flow.runs import find_run
    from dsctl.view.results import show_measured
    from dsctl.view.sink import open_out

    out = open_out(json=as_json, quiet=quiet)
    row = find_run(run)
    changes = changes_of(
        rate=rate,
        duration=duration,
        warmup=warmup,
        arrivals=arrivals,
        prompt_tokens=prompt_tokens,
        shared_ratio=shared_ratio,
        output_tokens=output_tokens,
        seed=seed,
        slo=slo,
    )
    with out.watching() as sink:
        measured = bench_row(row, changes, (sink,))
    show_measured(out, measured)
