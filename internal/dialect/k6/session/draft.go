package session

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/inspect/observe"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/report/export"
)

// draft is the record of the run while it is being written: the names in it, its bundle, and what is told the user.
type draft struct {
	tell  func(text string) // nil: nothing is printed
	quiet atomic.Bool       // print nothing at the end

	mu         sync.Mutex // guards what follows
	operations map[string]int
	addresses  map[[2]string]int
	run        *record.Run
	bundle     *record.Bundle
	script     []byte           // content of plan.yml, without plans
	plans      []string         // hashes of the plans that the script runs from files
	native     bool             // the script runs nothing but plans
	figures    observe.Source   // Script.Figures
	named      bool             // run has operations or addresses that run.json lacks
	exporter   *export.Exporter // nil if nothing is exported
}

// The most operations and addresses that a run distinguishes. Scripts name them during the run, and some put keys into
// the names. Operations beyond the limit are counted together.
const (
	mostOperations = 128
	mostAddresses  = 16
)

// Quiet sets whether the run prints nothing about itself but errors.
func (d *draft) Quiet(quiet bool) { d.quiet.Store(quiet) }

// Operation returns the number of the operation with this name. The first call for a name adds it.
func (d *draft) Operation(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, ok := d.operations[name]; ok {
		return n
	}
	name = secret.Text(name) // k6 names requests by their URLs
	if n, ok := d.operations[name]; ok {
		return n
	}
	if len(d.run.Operations) >= mostOperations-1 {
		name = record.OtherOperations
		if n, ok := d.operations[name]; ok {
			return n
		}
	}
	n := len(d.run.Operations)
	d.operations[name] = n
	d.run.Operations = append(d.run.Operations, record.Operation{Name: name})
	d.named = true
	return n
}

// Address returns the number of an address. The first call for an address adds it; beyond mostAddresses it returns -1.
func (d *draft) Address(protocol, address string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := [2]string{protocol, address}
	if n, ok := d.addresses[key]; ok {
		return n
	}
	n := len(d.run.Targets)
	if n >= mostAddresses {
		return -1
	}
	d.addresses[key] = n
	d.run.Targets = append(d.run.Targets, record.Target{Address: address, Protocol: protocol})
	d.named = true
	return n
}

// Describe sets the product and version of the server at an address.
func (d *draft) Describe(address int, product, version string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if address >= 0 && address < len(d.run.Targets) {
		d.run.Targets[address].Product, d.run.Targets[address].Version = product, version
		d.named = true
	}
}

// nameOf returns the name of an operation, "" if there is none.
func (d *draft) nameOf(operation int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if operation < 0 || operation >= len(d.run.Operations) {
		return ""
	}
	return d.run.Operations[operation].Name
}

// addressOf returns the text of an address, "" if there is none.
func (d *draft) addressOf(address int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if address < 0 || address >= len(d.run.Targets) {
		return ""
	}
	return d.run.Targets[address].Address
}

// names returns the names of the operations so far.
func (d *draft) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.run.OperationNames()
}

// lengths returns the numbers of operations and addresses that have names.
func (d *draft) lengths() (operations, addresses int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.run.Operations), len(d.run.Targets)
}

// update calls f with the record, and rewrites run.json if there are new names. The names must be there before an
// interval that refers to their numbers can be read.
func (d *draft) update(f func(run *record.Run) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := f(d.run)
	if d.named {
		d.named = false
		err = errors.Join(err, d.bundle.Update(d.run))
		if d.exporter != nil {
			d.exporter.Rename(d.run)
		}
	}
	return err
}

func (d *draft) warn(w record.Warning) {
	d.mu.Lock()
	d.run.Warnings = append(d.run.Warnings, w)
	d.mu.Unlock()
	d.note(w)
}

func (d *draft) note(w record.Warning) { d.say("brunt: note: " + w.Text.String()) }

func (d *draft) say(text string) {
	if d.tell != nil && !d.quiet.Load() {
		d.tell(text)
	}
}

// NoData warns that a threshold had no data. If broken is set, the threshold counts as failed; otherwise k6 lets it
// pass.
func (d *draft) NoData(threshold string, broken bool) {
	names := strings.Join(d.names(), ", ")
	rule, operations := message.Text("threshold", threshold), message.Text("operations", cmp.Or(names, "-"))
	if broken {
		d.warn(record.NewWarning("k6-no-data-broken", rule, operations))
	} else {
		d.warn(record.NewWarning("k6-no-data", rule, operations))
	}
}

// Tolerates records how late an executor may let iterations begin, to begin them together. The highest value counts.
func (d *draft) Tolerates(late time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run.ToleranceNs = max(d.run.ToleranceNs, int64(late))
}

// Failed stores a failed attempt of a plan as an example of its error class.
func (d *draft) Failed(sample record.ErrorSample) {
	d.mu.Lock()
	bundle := d.bundle
	d.mu.Unlock()
	if bundle != nil {
		bundle.Failed(&sample)
	}
}
