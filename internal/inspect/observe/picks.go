package observe

import "slices"

// part selects a number of a summary or histogram.
type part int

const (
	partValue part = iota
	partCount
	partSum
	partSeries // 1 for each series
)

// pick maps a series of a service's own metrics to one of ours.
type pick struct {
	metric      Metric
	family      string
	part        part
	label, is   string                  // only the series with label=is; all series if label is ""
	keep        func(value string) bool // replaces is: whether to take a value of the label
	scale       float64                 // factor to the metric's unit; 0 means 1
	limitFamily string
	adds        bool // add to the value of earlier picks of the metric; without it the first pick that is found wins
}

// picks returns the known names of each metric, preferred names first. They come from Prometheus' client
// libraries for all languages (process_…), Go, Java (simpleclient, Micrometer), .NET (prometheus-net) and
// Node.js, and from OpenTelemetry's runtime instrumentation.
func picks() []pick {
	nonHeap := Metric{Name: "nonheap_bytes", Unit: Bytes, Leak: true}
	return []pick{
		{metric: metricRSS, family: "process_resident_memory_bytes"},
		{metric: metricRSS, family: "process_working_set_bytes"},
		{metric: metricRSS, family: "dotnet_process_memory_working_set_bytes"},
		{metric: metricCPU, family: "process_cpu_seconds_total"},
		{metric: metricCPU, family: "process_cpu_time_ns_total", scale: 1e-9},
		{metric: metricCPU, family: "dotnet_process_cpu_time_seconds_total"},
		{metric: metricFiles, family: "process_open_fds", limitFamily: "process_max_fds"},
		{metric: metricFiles, family: "process_files_open_files", limitFamily: "process_files_max_files"},
		{metric: metricFiles, family: "process_open_handles"},
		{metric: metricThreads, family: "go_threads"},
		{metric: metricThreads, family: "jvm_threads_live_threads"},
		{metric: metricThreads, family: "jvm_threads_current"},
		{metric: metricThreads, family: "jvm_thread_count"},
		{metric: metricThreads, family: "process_num_threads"},
		{metric: metricThreads, family: "process_runtime_dotnet_thread_pool_threads_count"},
		{metric: metricThreads, family: "dotnet_thread_pool_thread_count"},
		{metric: metricTasks, family: "go_goroutines"},

		{metric: metricHeap, family: "go_memstats_heap_alloc_bytes", limitFamily: "go_gc_gomemlimit_bytes"},
		{metric: metricHeap, family: "jvm_memory_used_bytes", label: "area", is: "heap", limitFamily: "jvm_memory_max_bytes"},
		{metric: metricHeap, family: "jvm_memory_bytes_used", label: "area", is: "heap", limitFamily: "jvm_memory_bytes_max"},
		{metric: metricHeap, family: "jvm_memory_used_bytes", label: "jvm_memory_type", is: "heap",
			limitFamily: "jvm_memory_limit_bytes"},
		{metric: metricHeap, family: "dotnet_total_memory_bytes"},
		{metric: metricHeap, family: "process_runtime_dotnet_gc_heap_size_bytes"},
		{metric: metricHeap, family: "dotnet_gc_last_collection_heap_size_bytes"},
		{metric: metricHeap, family: "nodejs_heap_size_used_bytes"},
		{metric: nonHeap, family: "jvm_memory_used_bytes", label: "area", is: "nonheap"},
		{metric: nonHeap, family: "jvm_memory_bytes_used", label: "area", is: "nonheap"},
		{metric: nonHeap, family: "jvm_memory_used_bytes", label: "jvm_memory_type", is: "non_heap"},

		{metric: metricCycles, family: "go_gc_duration_seconds", part: partCount},
		{metric: metricCycles, family: "jvm_gc_collection_seconds", part: partCount},
		{metric: metricCycles, family: "jvm_gc_pause_seconds", part: partCount},
		{metric: metricCycles, family: "jvm_gc_duration_seconds", part: partCount},
		{metric: metricCycles, family: "dotnet_collection_count_total"},
		{metric: metricCycles, family: "process_runtime_dotnet_gc_collections_count_total"},
		{metric: metricCycles, family: "dotnet_gc_collections_total"},
		{metric: metricCycles, family: "nodejs_gc_duration_seconds", part: partCount},
		{metric: metricPauses, family: "go_gc_duration_seconds", part: partSum},
		{metric: metricPauses, family: "jvm_gc_collection_seconds", part: partSum},
		{metric: metricPauses, family: "jvm_gc_pause_seconds", part: partSum},
		{metric: metricPauses, family: "jvm_gc_duration_seconds", part: partSum},
		{metric: metricPauses, family: "process_runtime_dotnet_gc_duration_nanoseconds_total", scale: 1e-9},
		{metric: metricPauses, family: "dotnet_gc_pause_time_seconds_total"},
		{metric: metricPauses, family: "nodejs_gc_duration_seconds", part: partSum},
	}
}

// nodePicks returns the names of a machine's figures in the metrics of Prometheus' node_exporter.
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
		cpu(hostBusy, "user", "system", "irq", "softirq"), cpu(hostUser, "user"), cpu(hostNice, "nice"),
		cpu(hostSystem, "system"),
		cpu(hostIdle, "idle"), cpu(hostDiskWait, "iowait"), cpu(hostInterrupt, "irq", "softirq"), cpu(hostSteal, "steal"),
		{metric: hostCores, family: "node_cpu_seconds_total", label: "mode", is: "idle", part: partSeries},
		device(hostReads, "node_disk_reads_completed_total", isDisk), device(hostRead, "node_disk_read_bytes_total", isDisk),
		device(hostWrites, "node_disk_writes_completed_total", isDisk), device(hostWritten, "node_disk_written_bytes_total",
			isDisk),
		device(hostDiskBusy, "node_disk_io_time_seconds_total", isDisk),
		device(hostReceived, "node_network_receive_bytes_total", isNetwork),
		device(hostSent, "node_network_transmit_bytes_total", isNetwork),
		device(hostLoopback, "node_network_receive_bytes_total", loopback),
	}
	for _, family := range []string{"receive_errs", "receive_drop", "transmit_errs", "transmit_drop"} {
		p := device(hostNetErrors, "node_network_"+family+"_total", isNetwork)
		p.adds = true
		out = append(out, p)
	}
	return append(out,
		pick{metric: hostSwitches, family: "node_context_switches_total"},
		pick{metric: hostMemory, family: "node_memory_MemTotal_bytes"},
		pick{metric: hostAvailable, family: "node_memory_MemAvailable_bytes"},
		pick{metric: hostSwap, family: "node_memory_SwapTotal_bytes"},
		pick{metric: hostSwapFree, family: "node_memory_SwapFree_bytes"}, pick{metric: hostLoad1, family: "node_load1"},
		pick{metric: hostLoad5, family: "node_load5"}, pick{metric: hostLoad15, family: "node_load15"},
		pick{metric: hostRunning, family: "node_procs_running"})
}
