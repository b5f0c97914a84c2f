package loadtest

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"brunt/internal/record"
	"brunt/internal/run/runner"
	"brunt/internal/run/scale"
	"brunt/internal/run/scale/kubernetes"
	"brunt/internal/server/fault"
)

// deepest is the maximum depth of a run's bundle below the folder of a series.
const deepest = 4

// EndLeft ends the loads of a series whose coordinator was killed, so that no part of a run is active when the run is
// repeated. It stops workers that still send, receives their bundles, and waits for the watchdog of the killed process.
// dir is the folder of the series.
func EndLeft(ctx context.Context, dir string, tell func(format string, args ...any)) error {
	below := dir
	for range deepest {
		below = filepath.Join(below, "*")
		left, err := filepath.Glob(filepath.Join(below, record.WorkersFolder, scale.JournalFile))
		if err != nil {
			return err
		}
		for _, journal := range left {
			if err := endLeft(ctx, journal, tell); err != nil {
				return err
			}
		}
	}
	return nil
}

// endLeft ends the load of the run to which the journal belongs.
func endLeft(ctx context.Context, journal string, tell func(format string, args ...any)) (err error) {
	extra := scale.ExtraOf(journal)
	if extra == nil { // the coordinator was killed before the load began; workers exit by themselves
		return nil
	}
	d := &leading{dir: filepath.Dir(filepath.Dir(journal)), v: &runner.Hooks{}, l: &Test{}}
	tell("the load in %s is ended: its coordinator was killed", d.dir)
	if d.c, _, err = scale.Resume(scale.Options{Dir: d.workers(), Journal: journal}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.c.Close()) }()
	d.adopt(extra)
	d.end(ctx)
	fault.AwaitWatchdog(ctx, d.healed())
	return errors.Join(ctx.Err(), d.release())
}

// adopt makes release delete the objects that a killed coordinator created in Kubernetes.
func (d *leading) adopt(extra map[string]string) {
	if extra[extraJob] == "" {
		return
	}
	client, err := kubernetes.Open(kubernetes.Source{Kubeconfig: extra[extraKubeconfig], Context: extra[extraContext],
		Namespace: extra[extraNamespace]})
	if err != nil {
		d.tell("the Job " + extra[extraJob] + " is left until its deadline: " + err.Error())
		return
	}
	d.cluster = client.Adopt(extra[extraJob])
}

// absolute returns the absolute path of a file; "" stays "".
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil && path != "" {
		return full
	}
	return path
}

// kubeconfigs returns the absolute path of the kubeconfig for the journal: that of s or else of the environment
// variable KUBECONFIG; "" if neither is set.
func kubeconfigs(s *kubernetes.Source) string {
	return absolute(cmp.Or(s.Kubeconfig, os.Getenv("KUBECONFIG")))
}
