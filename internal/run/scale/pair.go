package scale

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Pair is what is needed by a coordinator and workers that are started independently: the coordinator's certificate and
// the workers' ticket.
type Pair struct {
	Coordinator Identity `json:"coordinator"`
	Ticket      Ticket   `json:"ticket"`
}

// NewPair creates the certificates of a run that ends within lasts. Its workers reach the coordinator at addresses, and
// get their numbers from the engine that starts them.
func NewPair(run string, addresses []string, lasts time.Duration) (*Pair, error) {
	lead, worker, err := NewIdentities(run, lasts)
	return &Pair{Coordinator: lead,
		Ticket: Ticket{Run: run, Addresses: addresses, Identity: worker, Worker: NumberOfEngine}}, err
}

// ReadPair reads the file of a Pair. It returns nil if the file doesn't exist.
func ReadPair(path string) (*Pair, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := &Pair{}
	if json.Unmarshal(data, p) != nil || p.Coordinator.Key == "" || p.Ticket.Run == "" ||
		len(p.Ticket.Addresses) == 0 {
		return nil, fmt.Errorf(
			"%s is there already and isn't the coordinator's file that brunt ticket makes; name that, or a file that isn't there yet",
			path)
	}
	return p, nil
}

// ReadTicket reads the ticket of a worker.
func ReadTicket(path string) (t Ticket, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil || t.Run == "" || len(t.Addresses) == 0 {
		return t, fmt.Errorf("%s isn't the ticket of a worker, which brunt ticket or brunt run --on external makes", path)
	}
	return t, nil
}

// WriteSecret writes what as JSON into a new file that only its owner can read. It returns an error if the file exists.
func WriteSecret(path string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: a ticket is for one run; remove it, or name another file", path)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	return errors.Join(err, file.Close())
}
