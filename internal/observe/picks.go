package observe

// part is which number of a summary or histogram is meant.
type part int

const (
	partValue part = iota
	partCount
	partSum
	partSeries // 1 for each series
)

// pick says where a metric is found in a service's own metrics.
type pick struct {
	metric      Metric
	family      string
	part        part
	label, is   string                  // only the series with this label; all if ""
	keep        func(value string) bool // instead of is: which values of the label
	scale       float64                 // to the metric's unit; 0 means 1
	limitFamily string
	adds        bool // to what an earlier pick of the metric found, where the first is taken otherwise
}

// picks are the names that are known, of each metric the preferred first: those of the client
// libraries of Prometheus for all languages (process_…), for Go, Java (simpleclient, Micrometer),
// .NET (prometheus-net) and Node.js, and those of OpenTelemetry's runtime instrumentation.
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
		{metric: metricHeap, family: "jvm_memory_used_bytes", label: "jvm_memory_type", is: "heap", limitFamily: "jvm_memory_limit_bytes"},
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
