package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"brunt/internal/loadtest"
)

// bindCluster binds the flags for workers that Kubernetes or the user starts.
func (f *workerFlags) bindCluster(fs *pflag.FlagSet) {
	w := &f.workers
	fs.StringVar(&w.Advertise, "advertise", "", "host:port that workers call, if it isn't that of --listen")
	fs.StringVar(&w.Ticket, "ticket", "",
		"with --on external: file of the ticket for workers, to be written, or coordinator.json of brunt ticket")
	c := &w.Cluster
	fs.StringVar(&c.Pods.Image, "image", "", "with --on kubernetes: image of brunt, of the same version")
	fs.StringVar(&c.Pods.PullSecret, "image-pull-secret", "", "with --on kubernetes: name of the secret for the image's registry")
	fs.StringVar(&c.Source.Namespace, "namespace", "", "with --on kubernetes: namespace (default: the context's)")
	fs.StringVar(&c.Source.Kubeconfig, "kubeconfig", "", "with --on kubernetes: kubeconfig (default: $KUBECONFIG, ~/.kube/config)")
	fs.StringVar(&c.Source.Context, "kube-context", "", "with --on kubernetes: context of the kubeconfig (default: its current-context)")
	fs.StringVar(&c.Pods.CPU, "cpu", "1", "with --on kubernetes: cores of each worker, as request and as limit")
	fs.StringVar(&c.Pods.Memory, "memory", "512Mi", "with --on kubernetes: memory of each worker, as request and as limit")
	fs.StringVar(&c.Pods.EnvSecret, "env-secret", "", "with --on kubernetes: name of a secret whose keys become the workers' variables")
}

// clusterFlags returns the names of the flags for --on kubernetes.
func clusterFlags() []string {
	return []string{"image", "image-pull-secret", "namespace", "kubeconfig", "kube-context", "cpu", "memory", "env-secret",
		"manifest"}
}

// checkCluster returns an error for flags that contradict each other or that the cluster would reject.
func (f *workerFlags) checkCluster() error {
	w := &f.workers
	set := f.workersFlags.Changed
	for _, name := range clusterFlags() {
		if w.On != loadtest.Kubernetes && set(name) {
			return fmt.Errorf("--%s is for --on kubernetes; add that", name)
		}
	}
	switch {
	case w.On == loadtest.Kubernetes:
		if err := w.Cluster.Pods.Check(); err != nil {
			return err
		}
		for _, name := range []string{"on-lost", "join-timeout"} {
			if set(name) {
				w.Cluster.Flags = append(w.Cluster.Flags, "--"+name, f.workersFlags.Lookup(name).Value.String())
			}
		}
		if w.Cluster.Pods.Upload != "" {
			w.Cluster.Flags = append(w.Cluster.Flags, "--upload", w.Cluster.Pods.Upload)
		}
		if w.MixedCores {
			w.Cluster.Flags = append(w.Cluster.Flags, "--mixed-cores")
		}
	case w.On == loadtest.External && w.Ticket == "":
		return errors.New("--on external: name the file of the workers' ticket with --ticket")
	case w.On != loadtest.External && w.Ticket != "":
		return errors.New("--ticket is for --on external; add that")
	case w.On == loadtest.External && w.Listen == "":
		return errors.New("--on external: say where workers reach this process, with --listen HOST:PORT")
	}
	if w.Advertise != "" {
		if err := checkAddress("advertise", w.Advertise); err != nil {
			return err
		}
	}
	if host, _, err := net.SplitHostPort(w.Listen); w.Listen != "" && err != nil {
		return fmt.Errorf("--listen %s: write HOST:PORT", w.Listen)
	} else if w.On == loadtest.External && host == "" && w.Advertise == "" && !madeBefore(w.Ticket) {
		return fmt.Errorf("--listen %s names no host: say the one by which workers reach it, or give --advertise HOST:PORT",
			w.Listen)
	}
	return nil
}

// checkAddress returns an error for an address to which workers can't connect.
func checkAddress(name, text string) error {
	host, port, err := net.SplitHostPort(text)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 || host == "" {
		return fmt.Errorf("--%s %s: write HOST:PORT", name, text)
	}
	return nil
}

// madeBefore reports whether a ticket's file exists already. The ticket then contains the coordinator's address.
func madeBefore(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// refuseForSeries returns an error for flags that are for a single load only.
func (f *workerFlags) refuseForSeries(record *loadtest.Record) error {
	switch {
	case f.workers.Cluster.Print:
		return errors.New("--manifest is for one load; give it to brunt run, rate, queue, spike or http")
	case f.workers.On == loadtest.External:
		return errors.New("--on external is for one load: nobody would start the workers of the next; use another --on")
	case record.Upload != "":
		return errors.New("--upload is for one load; copy the folder of the series when it has ended")
	}
	return nil
}
