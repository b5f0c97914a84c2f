package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The statements as an object-relational mapper generates them.
const (
	columns       = "select bookv2x0_.id as id1_0_, bookv2x0_.author as author2_0_, bookv2x0_.name as name3_0_, bookv2x0_.price as price4_0_ from bookv2 bookv2x0_"
	byAuthorSQL   = columns + " where bookv2x0_.author=$1"
	byNameSQL     = columns + " where bookv2x0_.name=$1"
	byBothSQL     = columns + " where bookv2x0_.name=$1 and bookv2x0_.author=$2"
	pageSQL       = columns + " order by bookv2x0_.id limit $1 offset $2"
	countSQL      = "select count(bookv2x0_.id) as col_0_0_ from bookv2 bookv2x0_"
	setPriceSQL   = "update bookv2 set price=$1 where author=$2 and name=$3"
	removeSQL     = "delete from bookv2 where author=$1 and name=$2"
	addSQL        = "insert into bookv2 (author, name, price, id) values ($1, $2, $3, $4)"
	highestKeySQL = "select coalesce(max(id), 0) from bookv2"
)

// book is a row of the table bookv2.
type book struct {
	ID     int64   `json:"id"`
	Author string  `json:"author"`
	Name   string  `json:"name"`
	Price  float64 `json:"price"`
}

// bookPage is one page of the list of all books.
type bookPage struct {
	Books []book `json:"books"`
	Total int64  `json:"total"`
}

// changed contains the number of rows that a statement changed.
type changed struct {
	Rows int64 `json:"rows"`
}

// store accesses the table over a pool of connections.
type store struct {
	pool *pgxpool.Pool
	last atomic.Int64 // the last key that was used
}

func openStore(ctx context.Context, dsn string, connections int) (*store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	config.MaxConns, config.MinConns = int32(connections), int32(connections)
	config.ConnConfig.RuntimeParams["application_name"] = "book"
	s := &store{}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	var highest int64
	if err := s.pool.QueryRow(ctx, highestKeySQL).Scan(&highest); err != nil {
		s.pool.Close()
		return nil, fmt.Errorf("the table bookv2: %w; fill it with brunt schema up", err)
	}
	s.last.Store(highest)
	return s, nil
}

func (s *store) close() { s.pool.Close() }

func (s *store) byAuthor(ctx context.Context, author string) ([]book, error) {
	return s.books(ctx, byAuthorSQL, author)
}

func (s *store) byName(ctx context.Context, name string) ([]book, error) {
	return s.books(ctx, byNameSQL, name)
}

func (s *store) byNameAndAuthor(ctx context.Context, name, author string) ([]book, error) {
	return s.books(ctx, byBothSQL, name, author)
}

// page returns a page of all books in the order of their keys, and the number of all books.
func (s *store) page(ctx context.Context, page int) (*bookPage, error) {
	books, err := s.books(ctx, pageSQL, pageSize, page*pageSize)
	if err != nil {
		return nil, err
	}
	out := &bookPage{Books: books}
	err = s.pool.QueryRow(ctx, countSQL).Scan(&out.Total)
	return out, err
}

func (s *store) books(ctx context.Context, sql string, args ...any) ([]book, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (b book, err error) {
		err = r.Scan(&b.ID, &b.Author, &b.Name, &b.Price)
		return b, err
	})
}

func (s *store) add(ctx context.Context, b book) (*book, error) {
	b.ID = s.last.Add(1)
	_, err := s.pool.Exec(ctx, addSQL, b.Author, b.Name, b.Price, b.ID)
	return &b, err
}

func (s *store) setPrice(ctx context.Context, author, name string, price float64) (*changed, error) {
	tag, err := s.pool.Exec(ctx, setPriceSQL, price, author, name)
	return &changed{tag.RowsAffected()}, err
}

func (s *store) remove(ctx context.Context, author, name string) (*changed, error) {
	tag, err := s.pool.Exec(ctx, removeSQL, author, name)
	return &changed{tag.RowsAffected()}, err
}
