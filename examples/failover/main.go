// Failover starts a cluster on this machine and runs brunt with the plan failover-etcd.yml or failover-postgres.yml,
// which stops or kills the cluster's leader under load. The process id of the leader is in the file leader.pid, which
// the plan refers to.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"brunt/test/testserver"
)

const usage = `usage: failover etcd|postgres [flags] [-- flags of brunt run]`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		os.Exit(ended.ExitCode()) // brunt has printed the reason
	case err != nil:
		fmt.Fprintln(os.Stderr, "failover:", err)
		os.Exit(1)
	}
}

// cluster contains the addresses of a cluster and finds its leader.
type cluster struct {
	addresses []string
	leader    func() (pid int) // process id; 0 if there is no leader now
}

func run(ctx context.Context, args []string) error {
	starts := map[string]func(testserver.TB) cluster{"etcd": etcd, "postgres": postgres}
	if len(args) == 0 || starts[args[0]] == nil {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("failover "+args[0], flag.ContinueOnError)
	brunt := flags.String("brunt", "bin/brunt", "the brunt to run")
	plan := flags.String("plan", "examples/failover-"+args[0]+".yml", "the plan")
	results := flags.String("results", "results", "folder for the record")
	page := flags.String("write", "", "a page of documentation that gets the report's sections on outages and events")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	for _, path := range []*string{brunt, plan, results, page} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	if _, err := os.Stat(*brunt); err != nil {
		return fmt.Errorf("--brunt: %w; make build makes it", err)
	}
	owner := testserver.NewStandalone(os.Stderr)
	defer owner.Close()
	c := starts[args[0]](owner)
	dir, err := os.MkdirTemp("", "failover-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	follow, end := context.WithCancel(ctx)
	defer end()
	if err := c.follow(follow, filepath.Join(dir, "leader.pid")); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, *brunt, append([]string{"run", *plan, "--allow-faults", "--results", *results,
		"-a", strings.Join(c.addresses, ",")}, flags.Args()...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var report bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, io.MultiWriter(os.Stdout, &report), os.Stderr
	failed := cmd.Run()
	if *page == "" {
		return failed
	}
	return errors.Join(failed, replace(*page, args[0], excerpt(report.String())))
}

// excerpt returns the sections of a report that describe what happened to the cluster.
func excerpt(report string) string {
	var out []string
	for section := range strings.SplitSeq(report, "\n\n") {
		title, _, _ := strings.Cut(section, "  ")
		if title == "FAILOVER" || title == "FAILOVER, ALL FAULTS" || title == "EVENTS" {
			out = append(out, strings.TrimSpace(section))
		}
	}
	return strings.Join(out, "\n…\n")
}

// replace replaces the report on a cluster in a page. Comments in the page mark its place.
func replace(page, cluster, report string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- make failover-"+cluster+" WRITE=1 -->\n", "<!-- end of failover-"+cluster+" -->"
	before, rest, found := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended || report == "" {
		return fmt.Errorf("%s has no place for the report on %s, or the report says nothing of outages", page, cluster)
	}
	return os.WriteFile(page, []byte(before+begin+"```\n"+report+"\n```\n"+end+after), 0o644)
}

// follow writes the process id of the leader to a file, and updates it until the context ends.
func (c *cluster) follow(ctx context.Context, path string) error {
	write := func() error {
		pid := c.leader()
		if pid == 0 {
			return errors.New("the cluster has no leader")
		}
		if err := os.WriteFile(path+".new", []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
	if err := write(); err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
			_ = write() // there may be no leader for a while
		}
	}()
	return nil
}

func etcd(owner testserver.TB) (c cluster) {
	members := testserver.EtcdCluster(owner, 3)
	for _, m := range members {
		c.addresses = append(c.addresses, m.Addr)
	}
	c.leader = func() int {
		if leader := testserver.EtcdLeader(members); leader != nil {
			return leader.PID
		}
		return 0
	}
	return c
}

func postgres(owner testserver.TB) (c cluster) {
	members := testserver.PatroniCluster(owner, 3, true)
	for _, m := range members {
		c.addresses = append(c.addresses, m.Addr)
	}
	c.leader = func() int {
		if leader := testserver.PatroniLeader(members); leader != nil {
			return leader.Postmaster()
		}
		return 0
	}
	return c
}
