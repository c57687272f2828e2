"""The load generator: workloads, open-loop arrivals, samples, summary, charts."""
