package observe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

// aMachine returns the files of a small machine: two cores, and a disk with a partition and a volume on it.
func aMachine() fstest.MapFS {
	return machine(map[string]string{
		"proc/stat": "cpu  1000 200 300 4000 50 10 20 30 0 0\ncpu0 500 100 150 2000 25 5 10 15 0 0\ncpu1 500 100 150 2000 25 5 10 15 0 0\n" +
			"intr 99 0 1\nctxt 12345\nbtime 1700000000\nprocs_running 3\n",
		"proc/meminfo": "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    9000 kB\nSwapTotal:       2000 kB\nSwapFree:        1500 kB\n",
		"proc/diskstats": "   7       0 loop0 9 9 9 9 9 9 9 9 0 9 9\n 259       0 nvme0n1 100 1 2000 3 50 4 4000 5 0 600 7 0 0 0 0 0 0\n" +
			" 259       1 nvme0n1p1 100 1 2000 3 50 4 4000 5 0 600 7\n   8       0 sda 10 1 20 3 5 4 40 5 0 60 7\n   8       1 sda1 10 1 20 3 5 4 40 5 0 60 7\n 253 0 dm-0 1 1 1 1 1 1 1 1 1 1 1\n",
		"proc/net/dev": "Inter-|   Receive                                                |  Transmit\n" +
			" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
			"    lo: 7000      70    0    0    0     0          0         0     7000      70    0    0    0     0       0          0\n" +
			"  eth0:1000000    900    1    2    0     0          0         0   2000000     800    3    4    0     0       0          0\n" +
			"docker0: 5 5 5 5 0 0 0 0 5 5 5 5 0 0 0 0\n",
		"proc/loadavg": "0.50 0.40 0.30 2/345 6789\n",
	})
}

// node is the output of node_exporter on aMachine.
const node = `# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 20
node_cpu_seconds_total{cpu="0",mode="iowait"} 0.25
node_cpu_seconds_total{cpu="0",mode="irq"} 0.05
node_cpu_seconds_total{cpu="0",mode="nice"} 1
node_cpu_seconds_total{cpu="0",mode="softirq"} 0.1
node_cpu_seconds_total{cpu="0",mode="steal"} 0.15
node_cpu_seconds_total{cpu="0",mode="system"} 1.5
node_cpu_seconds_total{cpu="0",mode="user"} 5
node_cpu_seconds_total{cpu="1",mode="idle"} 20
node_cpu_seconds_total{cpu="1",mode="iowait"} 0.25
node_cpu_seconds_total{cpu="1",mode="irq"} 0.05
node_cpu_seconds_total{cpu="1",mode="nice"} 1
node_cpu_seconds_total{cpu="1",mode="softirq"} 0.1
node_cpu_seconds_total{cpu="1",mode="steal"} 0.15
node_cpu_seconds_total{cpu="1",mode="system"} 1.5
node_cpu_seconds_total{cpu="1",mode="user"} 5
# TYPE node_context_switches_total counter
node_context_switches_total 12345
# TYPE node_memory_MemTotal_bytes gauge
node_memory_MemTotal_bytes 1.6384e+07
node_memory_MemAvailable_bytes 9.216e+06
node_memory_SwapTotal_bytes 2.048e+06
node_memory_SwapFree_bytes 1.536e+06
# TYPE node_disk_reads_completed_total counter
node_disk_reads_completed_total{device="dm-0"} 1
node_disk_reads_completed_total{device="nvme0n1"} 100
node_disk_reads_completed_total{device="sda"} 10
node_disk_read_bytes_total{device="nvme0n1"} 1.024e+06
node_disk_read_bytes_total{device="sda"} 10240
node_disk_writes_completed_total{device="nvme0n1"} 50
node_disk_writes_completed_total{device="sda"} 5
node_disk_written_bytes_total{device="nvme0n1"} 2.048e+06
node_disk_written_bytes_total{device="sda"} 20480
node_disk_io_time_seconds_total{device="nvme0n1"} 0.6
node_disk_io_time_seconds_total{device="sda"} 0.06
node_network_receive_bytes_total{device="docker0"} 5
node_network_receive_bytes_total{device="eth0"} 1e+06
node_network_receive_bytes_total{device="lo"} 7000
node_network_transmit_bytes_total{device="eth0"} 2e+06
node_network_transmit_bytes_total{device="lo"} 7000
node_network_receive_errs_total{device="eth0"} 1
node_network_receive_drop_total{device="eth0"} 2
node_network_transmit_errs_total{device="eth0"} 3
node_network_transmit_drop_total{device="eth0"} 4
node_load1 0.5
node_load5 0.4
node_load15 0.3
node_procs_running 2
`

// figures returns the figures of a source by name and unit.
func figures(t *testing.T, s Source) map[string]string {
	t.Helper()
	values, err := s.Sample(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range values {
		if got[v.Name] != "" {
			t.Errorf("%s is there twice", v.Name)
		}
		got[v.Name] = fmt.Sprintf("%.6g %s %v", v.Value, v.Unit, v.Counter)
	}
	return got
}

func TestAMachineAndItsExporterSayTheSame(t *testing.T) {
	want := map[string]string{
		"cpu_busy_seconds": "13.3 core_seconds true", "cpu_user_seconds": "10 core_seconds true",
		"cpu_nice_seconds":   "2 core_seconds true",
		"cpu_system_seconds": "3 core_seconds true", "cpu_idle_seconds": "40 core_seconds true",
		"cpu_iowait_seconds": "0.5 core_seconds true",
		"cpu_irq_seconds":    "0.3 core_seconds true", "cpu_steal_seconds": "0.3 core_seconds true", "cores": "2 count false",
		"context_switches":   "12345 count true",
		"memory_total_bytes": "1.6384e+07 bytes false", "memory_available_bytes": "9.216e+06 bytes false",
		"swap_total_bytes": "2.048e+06 bytes false", "swap_free_bytes": "1.536e+06 bytes false",
		"disk_reads": "110 count true", "disk_read_bytes": "1.03424e+06 bytes true", "disk_writes": "55 count true",
		"disk_written_bytes": "2.06848e+06 bytes true", "disk_busy_seconds": "0.66 seconds true",
		"net_received_bytes": "1e+06 bytes true", "net_sent_bytes": "2e+06 bytes true", "net_errors": "10 count true",
		"loopback_bytes": "7000 bytes true",
		"load_1m":        "0.5 count false", "load_5m": "0.4 count false", "load_15m": "0.3 count false",
		"threads_running": "2 count false",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, node) }))
	defer server.Close()
	exporter, err := Parse("node:" + server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Source{host{aMachine()}, exporter} {
		got := figures(t, s)
		for name, w := range want {
			if got[name] != w {
				t.Errorf("%s: %s is %q, want %q", s.Name(), name, got[name], w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d figures, want %d: %v", s.Name(), len(got), len(want), got)
		}
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		fmt.Fprintln(w, "process_open_fds 12")
	}))
	defer service.Close()
	if exporter, err = Parse("node:" + service.URL); err != nil {
		t.Fatal(err)
	}
	if _, err := exporter.Sample(context.Background()); err == nil || !strings.Contains(err.Error(), "node_exporter") {
		t.Errorf("a service's own metrics: %v", err)
	}
}

// Figures that this machine doesn't provide are left out. Without figures of processors the source is an error.
func TestAMachineMayHideThings(t *testing.T) {
	files := aMachine()
	for _, name := range []string{"proc/diskstats", "proc/net/dev", "proc/loadavg"} {
		delete(files, name)
	}
	files["proc/stat"].Data = []byte("cpu  100 0 100 700\n") // format of Linux 2.4
	got := figures(t, host{files})
	if got["cpu_steal_seconds"] != "0 core_seconds true" || got["cpu_busy_seconds"] != "2 core_seconds true" ||
		got["memory_total_bytes"] == "" || got["disk_reads"] != "" {
		t.Errorf("%v", got)
	}
	for _, text := range []string{"", "\n", "cpus 1\n", "intr 5\n"} {
		files["proc/stat"].Data = []byte(text)
		if _, err := (host{files}).Sample(context.Background()); err == nil {
			t.Errorf("%q gives figures", text)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, file := range aMachine() {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		processors(text)
		memory(text)
		disks(text)
		network(text)
		loadAverage(text)
	})
}

func TestDisksAndTheirPartsAreToldApart(t *testing.T) {
	for name, want := range map[string]bool{
		"sda": true, "sda1": false, "vdb": true, "vdb12": false, "nvme0n1": true, "nvme10n2": true, "nvme0n1p3": false,
		"mmcblk0": true, "mmcblk0p1": false,
		"loop3": false, "ram0": false, "zram0": false, "dm-2": false, "md127": false, "sr0": false, "xvda": true,
		"xvda1": false,
	} {
		if got := isDisk(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
