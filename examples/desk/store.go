package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	signInSQL  = "select id, email, name from customer where lower(email) = lower($1)"
	ticketsSQL = "select id, agent, title from ticket where customer = $1"
	agentSQL   = "select name from agent where id = $1"
	archiveSQL = "select id, agent, title from ticket order by id limit 20 offset $1"
	openSQL    = "insert into ticket (customer, agent, title) values ($1, 1, $2) returning id"
	notifySQL  = "update ticket set notified = notified + 1 where id = $1"

	pageSize = 20
	// mailTime is how long the mail server takes, for which the notifier waits.
	mailTime = 150 * time.Millisecond
)

// customer is a row of the table customer.
type customer struct {
	ID    int64  `json:"id"`
	Email string `json:"email"`
	Name  string `json:"name"`
}

// ticket is a row of the table ticket with the name of its agent.
type ticket struct {
	ID    int64  `json:"id"`
	Agent string `json:"agent"`
	Title string `json:"title"`

	agent int
}

// store accesses the tables over two pools of connections, one for requests and one for the notifier.
type store struct{ pool, notifier *pgxpool.Pool }

func openStore(ctx context.Context, dsn string, connections, notifiers int) (*store, error) {
	s := &store{}
	for _, p := range []struct {
		to   **pgxpool.Pool
		name string
		n    int
	}{{&s.pool, "desk", connections}, {&s.notifier, "desk-notifier", notifiers}} {
		config, err := pgxpool.ParseConfig(dsn)
		if err != nil {
			return nil, fmt.Errorf("the database: %w", err)
		}
		config.MaxConns, config.MinConns = int32(p.n), int32(p.n)
		config.ConnConfig.RuntimeParams["application_name"] = p.name
		if *p.to, err = pgxpool.NewWithConfig(ctx, config); err != nil {
			return nil, fmt.Errorf("the database: %w", err)
		}
	}
	return s, nil
}

func (s *store) close() {
	s.pool.Close()
	s.notifier.Close()
}

func (s *store) signIn(ctx context.Context, values []string) (any, error) {
	rows, err := s.pool.Query(ctx, signInSQL, values[0])
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (c customer, err error) {
		err = r.Scan(&c.ID, &c.Email, &c.Name)
		return c, err
	})
}

// tickets returns a customer's tickets. It asks for the agent of each ticket with a separate statement (N+1).
func (s *store) tickets(ctx context.Context, values []string) (any, error) {
	id, err := strconv.Atoi(values[0])
	if err != nil {
		return nil, err
	}
	list, err := s.list(ctx, ticketsSQL, id)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if err := s.pool.QueryRow(ctx, agentSQL, list[i].agent).Scan(&list[i].Agent); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *store) archive(ctx context.Context, values []string) (any, error) {
	page, err := strconv.Atoi(values[0])
	if err != nil {
		return nil, err
	}
	return s.list(ctx, archiveSQL, page*pageSize)
}

func (s *store) list(ctx context.Context, sql string, argument int) ([]ticket, error) {
	rows, err := s.pool.Query(ctx, sql, argument)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (t ticket, err error) {
		err = r.Scan(&t.ID, &t.agent, &t.Title)
		return t, err
	})
}

func (s *store) open(ctx context.Context, values []string) (id any, err error) {
	customer, err := strconv.Atoi(values[0])
	if err != nil {
		return nil, err
	}
	var n int64
	err = s.pool.QueryRow(ctx, openSQL, customer, values[1]).Scan(&n)
	return n, err
}

// notify keeps a transaction open while it waits for the mail server.
func (s *store) notify(ctx context.Context, values []string) (any, error) {
	id, err := strconv.Atoi(values[0])
	if err != nil {
		return nil, err
	}
	return "sent", pgx.BeginFunc(ctx, s.notifier, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, notifySQL, id); err != nil {
			return err
		}
		select {
		case <-time.After(mailTime):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}
