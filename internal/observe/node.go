package observe

import "slices"

// nodePicks are a machine's figures in the metrics of Prometheus' node_exporter.
func nodePicks() []pick {
	state := func(names ...string) func(string) bool {
		return func(mode string) bool { return slices.Contains(names, mode) }
	}
	loopback := func(device string) bool { return device == "lo" }
	cpu := func(m Metric, states ...string) pick {
		return pick{metric: m, family: "node_cpu_seconds_total", label: "mode", keep: state(states...)}
	}
	device := func(m Metric, family string, keep func(string) bool) pick {
		return pick{metric: m, family: family, label: "device", keep: keep}
	}
	out := []pick{
		cpu(hostBusy, "user", "system", "irq", "softirq"), cpu(hostUser, "user"), cpu(hostNice, "nice"), cpu(hostSystem, "system"),
		cpu(hostIdle, "idle"), cpu(hostDiskWait, "iowait"), cpu(hostInterrupt, "irq", "softirq"), cpu(hostSteal, "steal"),
		{metric: hostCores, family: "node_cpu_seconds_total", label: "mode", is: "idle", part: partSeries},
		device(hostReads, "node_disk_reads_completed_total", isDisk), device(hostRead, "node_disk_read_bytes_total", isDisk),
		device(hostWrites, "node_disk_writes_completed_total", isDisk), device(hostWritten, "node_disk_written_bytes_total", isDisk),
		device(hostDiskBusy, "node_disk_io_time_seconds_total", isDisk),
		device(hostReceived, "node_network_receive_bytes_total", isNetwork), device(hostSent, "node_network_transmit_bytes_total", isNetwork),
		device(hostLoopback, "node_network_receive_bytes_total", loopback),
	}
	for _, family := range []string{"receive_errs", "receive_drop", "transmit_errs", "transmit_drop"} {
		p := device(hostNetErrors, "node_network_"+family+"_total", isNetwork)
		p.adds = true
		out = append(out, p)
	}
	return append(out,
		pick{metric: hostSwitches, family: "node_context_switches_total"}, pick{metric: hostMemory, family: "node_memory_MemTotal_bytes"},
		pick{metric: hostAvailable, family: "node_memory_MemAvailable_bytes"}, pick{metric: hostSwap, family: "node_memory_SwapTotal_bytes"},
		pick{metric: hostSwapFree, family: "node_memory_SwapFree_bytes"}, pick{metric: hostLoad1, family: "node_load1"},
		pick{metric: hostLoad5, family: "node_load5"}, pick{metric: hostLoad15, family: "node_load15"},
		pick{metric: hostRunning, family: "node_procs_running"})
}
