package ycsb

import (
	"fmt"
	"io"
	"strings"
	"time"

	"brunt/internal/secret"
)

// stars is the line around go-ycsb's parts.
const stars = "**********************************************"

// Banner writes what go-ycsb says before a load: the range of keys, what the database has to say,
// and all properties, secrets as ***.
func (s *Settings) Banner(w io.Writer) error {
	var b strings.Builder
	lo, hi := s.KeyRange()
	fmt.Fprintf(&b, "Using request distribution '%s' a keyrange of [%d %d]\n", s.Choice.Distribution, lo, hi)
	if s.Database.Notes != nil {
		for _, note := range s.Database.Notes(s) {
			b.WriteString(note + "\n")
		}
	}
	b.WriteString("***************** properties *****************\n")
	for _, key := range s.Set.Keys() {
		value, _ := s.Set.Get(key)
		fmt.Fprintf(&b, "\"%s\"=\"%s\"\n", key, secret.Value(key, value))
	}
	b.WriteString(stars + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Finished writes what go-ycsb says between a load and its results.
func Finished(w io.Writer, took time.Duration) error {
	_, err := fmt.Fprintf(w, "%s\nRun finished, takes %s\n", stars, took)
	return err
}
