package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// testPlanRows is how many books a test plan of JMeter asks for.
const testPlanRows = 10_000

// withTestPlan makes a test plan of JMeter the load of the campaign in the folder work: it converts the plan with
// brunt, and takes the campaign, and the files next to it, from the test plan's folder.
func withTestPlan(ctx context.Context, brunt, jmx, work, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	for _, name := range []string{filepath.Base(jmx), "campaign.yml", "indexes.sql", "books.csv"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(jmx), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(work, name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("--jmx: %w", err)
		}
	}
	var plan, complaints bytes.Buffer
	// Threads enough for the service's maximum, for longer than any step.
	convert := exec.CommandContext(ctx, brunt, "convert", "jmeter", "-n", "-t", filepath.Base(jmx), "-Jhost="+host,
		"-Jport="+port, "-Jthreads=16", "-Jduration=86400", "--scaled-by", "N=34",
		"--threshold", "response.p(95) < 300ms", "--threshold", "errors < 1%")
	convert.Dir, convert.Stdout, convert.Stderr = work, &plan, &complaints
	if err := convert.Run(); err != nil {
		return fmt.Errorf("brunt convert jmeter: %w: %s", err, complaints.String())
	}
	return os.WriteFile(filepath.Join(work, "book-jmeter.yml"), plan.Bytes(), 0o644)
}

// rows writes the authors and names of some books to a file of CSV, which a test plan of JMeter reads.
func rows(ctx context.Context, args []string) (err error) {
	if len(args) != 1 {
		return errors.New("book rows: name the file")
	}
	conn, err := openAdmin(ctx, os.Getenv("BOOK_PG"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	found, err := conn.Query(ctx, "select author, name from bookv2 order by id limit $1", testPlanRows)
	if err != nil {
		return fmt.Errorf("books: %w", err)
	}
	books, err := pgx.CollectRows(found, func(r pgx.CollectableRow) ([]string, error) {
		book := make([]string, 2)
		return book, r.Scan(&book[0], &book[1])
	})
	if err != nil {
		return fmt.Errorf("books: %w", err)
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(books); err != nil {
		return err
	}
	return os.WriteFile(args[0], text.Bytes(), 0o644)
}
