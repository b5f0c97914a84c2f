// Book is a small service to test: an HTTP API over one table of PostgreSQL. It is written like typical services of
// this kind, with a limited number of worker threads, a pool of connections, and statements as an object-relational
// mapper generates them. It comes with a load profile (plan.yml), a test programme (campaign.yml), and a command that
// runs both.
package main

import (
	"context"

	"brunt/examples/internal/example"
)

const usage = `usage:
  book serve      serve the API over a database that is there
  book rows FILE  write the authors and names of some books to a file, for JMeter's test plan
  book programme  start PostgreSQL, fill it, and run the test programme against the service

book serve -h and book programme -h list the flags.
`

func main() { example.Main("book", run) }

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "rows" {
		return rows(ctx, args[1:])
	}
	return example.Run(ctx, args, usage, serve, programme)
}
