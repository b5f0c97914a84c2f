package postgres

import (
	"testing"

	"brunt/internal/inspect/inspecttest"
	"brunt/internal/record"
)

const books = "create table book as select g as id, md5(g::text) as author, md5((g / 2)::text) as name, g % 100 as price from generate_series(1, 20000) g"

func TestSequentialScanIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	in := d.inspected(d.repeat(5, "select * from book where author = $1", "x"))
	f := inspecttest.Expect(t, in, FindSeqScan, "book", "20,000 rows", "index on book (author)", "of the server's time")
	if f.Severity != record.Critical || f.Statement == "" || f.Share < 0.5 {
		t.Errorf("%+v", f)
	}
	p := in.Plans[0]
	if p.Source != record.ArgumentsTable || !p.Analyzed || len(p.Arguments) != 1 || len(p.Arguments[0]) != 34 {
		t.Errorf("not executed with an author that is there: %+v", p)
	}
	if noted := noteOf(p); noted == "" {
		t.Errorf("no note in the plan: %+v", p.Nodes)
	}
}

func noteOf(p record.QueryPlan) string {
	for _, n := range p.Nodes {
		if !n.Note.IsZero() {
			return n.Note.String()
		}
	}
	return ""
}

func TestSequentialScanWithIndexIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index on book (author)", "analyze book")
	in := d.inspected(func(i *Inspector) {
		d.repeat(5, "select * from book where author = $1", "x")(i)
		d.repeat(5, "select * from book where price > $1", 5)(i) // reads most of the table on purpose
	})
	inspecttest.Silent(t, in, FindSeqScan)
}

func TestScanOfWritingStatementIsFoundWithoutExecutingIt(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	in := d.inspected(d.repeat(3, "update book set price = $1 where author = $2", 7, "nobody"))
	inspecttest.Expect(t, in, FindSeqScan, "by the planner's estimate", "index on book (author)")
	if p := in.Plans[0]; p.Analyzed {
		t.Errorf("executed: %+v", p)
	}
}

func TestCountIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "alter table book add primary key (id)", "vacuum analyze book")
	in := d.inspected(d.repeat(5, "select count(b.id) as col_0_0_ from book b"))
	inspecttest.Expect(t, in, FindCount, "20,000 rows", "reltuples")
	inspecttest.Silent(t, in, FindSeqScan)
}

func TestCountOfFewIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index on book (author)", "analyze book")
	in := d.inspected(func(i *Inspector) {
		d.repeat(5, "select count(*) from book where author = $1", "x")(i)
		d.repeat(5, "select sum(price) from book")(i)
	})
	inspecttest.Silent(t, in, FindCount)
}

func TestDeepOffsetIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "alter table book add primary key (id)", "vacuum analyze book")
	in := d.inspected(d.repeat(5, "select * from book order by id limit $1 offset $2", 20, 15000))
	inspecttest.Expect(t, in, FindOffset, "blocks on average", "WHERE id > $last")
}

func TestShallowOffsetIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "alter table book add primary key (id)", "vacuum analyze book")
	in := d.inspected(d.repeat(5, "select * from book order by id limit $1 offset $2", 20, 40))
	inspecttest.Silent(t, in, FindOffset)
}

func TestMisestimateIsFound(t *testing.T) {
	// Two dependent columns: the planner multiplies their selectivities.
	d := newDatabase(t, counting(t),
		"create table place as select g % 50 as city, (g % 50) * 3 as country from generate_series(1, 20000) g, generate_series(1, 4)", "analyze place")
	in := d.inspected(d.repeat(5, "select * from place where city = 7 and country = 21"))
	inspecttest.Expect(t, in, FindMisestimate, "expected", "CREATE STATISTICS ON city, country FROM place")
}

func TestGoodEstimateIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t), "create table place as select g % 50 as city from generate_series(1, 20000) g",
		"analyze place")
	in := d.inspected(func(i *Inspector) {
		d.repeat(5, "select * from place where city = 7")(i)
		d.repeat(5, "select * from place limit 10")(i)
	})
	inspecttest.Silent(t, in, FindMisestimate)
}

func TestSpillIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	sure(t, d.conn, "set work_mem = '64kB'")
	in := d.inspected(d.repeat(3, "select * from book order by name, author"))
	inspecttest.Expect(t, in, FindSpill, "work_mem")
}

func TestSortInMemoryIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	in := d.inspected(d.repeat(3, "select * from book where id < 100 order by name"))
	inspecttest.Silent(t, in, FindSpill)
}

const shop = "create table customer (id int primary key); insert into customer select generate_series(1, 3000);" +
	"create table purchase (id int primary key, customer_id int references customer); insert into purchase select g, 1 + g % 2000 from generate_series(1, 5000) g"

func TestForeignKeyWithoutIndexIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), shop, "analyze")
	in := d.inspected(d.repeat(1, "delete from customer where id > 2990"))
	f := inspecttest.Expect(t, in, FindForeignKey, "purchase (customer_id)", "10 rows deleted from customer",
		"CREATE INDEX CONCURRENTLY ON purchase (customer_id)")
	if f.Severity != record.Serious {
		t.Errorf("%+v", f)
	}
}

func TestForeignKeyWithIndexIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t), shop, "create index on purchase (customer_id, id)", "analyze")
	inspecttest.Silent(t, d.inspected(d.repeat(1, "delete from customer where id > 2990")), FindForeignKey)
}

func TestUnusedIndexIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index book_name on book (name)",
		"alter table book add primary key (id)", "analyze book")
	in := d.inspected(d.repeat(3, "insert into book select max(id) + 1, 'a', 'b', 1 from book"))
	inspecttest.Expect(t, in, FindUnusedIndex, "book_name", "3 rows written to book")
	if len(found(in, FindUnusedIndex)) != 1 {
		t.Errorf("the primary key too? %+v", found(in, FindUnusedIndex))
	}
}

func TestUsedIndexIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "create index book_name on book (name)", "analyze book",
		"set enable_seqscan = off")
	in := d.inspected(func(i *Inspector) {
		d.repeat(3, "select * from book where name = $1", "x")(i)
		d.repeat(3, "insert into book values (0, 'a', 'b', 1)")(i)
	})
	inspecttest.Silent(t, in, FindUnusedIndex)
}

func TestDeadRowsAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	in := d.inspected(d.repeat(2, "update book set price = price + 1"))
	inspecttest.Expect(t, in, FindBloat, "dead", "VACUUM book")
}

func TestEmptyPagesAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "delete from book where id % 5 > 0", "vacuum analyze book")
	in := d.inspected(d.repeat(1, "select * from book where id = 5"))
	inspecttest.Expect(t, in, FindBloat, "would fit into", "VACUUM FULL book")
}

func TestFullTableIsNoBloat(t *testing.T) {
	d := newDatabase(t, counting(t), books, "vacuum analyze book")
	in := d.inspected(d.repeat(1, "update book set price = 0 where id < 500"))
	inspecttest.Silent(t, in, FindBloat)
}

func TestStaleStatisticsAreFound(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book",
		"insert into book select g, 'a', 'b', 1 from generate_series(1, 9000) g")
	in := d.inspected(d.repeat(1, "select * from book where id = 5"))
	inspecttest.Expect(t, in, FindStale, "9,000 rows have changed", "ANALYZE book")
}

func TestTableNeverAnalyzedIsFound(t *testing.T) {
	d := newDatabase(t, counting(t), books)
	in := d.inspected(d.repeat(1, "select * from book where id = 5"))
	inspecttest.Expect(t, in, FindStale, "never been analyzed")
}

func TestFreshStatisticsAreSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "analyze book")
	in := d.inspected(d.repeat(1, "update book set price = 1 where id < 900"))
	inspecttest.Silent(t, in, FindStale)
}

func TestCacheMissesAreFound(t *testing.T) {
	// Larger than a quarter of shared_buffers, so scans don't keep its pages in memory.
	d := newDatabase(t, counting(t),
		"create table wide as select g as id, repeat(md5(g::text), 30) as text from generate_series(1, 14000) g",
		"vacuum analyze wide")
	in := d.inspected(d.repeat(5, "select count(*) from wide where text like '%zz%'"))
	inspecttest.Expect(t, in, FindCache, "16MB", "wide")
}

func TestHotCacheIsSilent(t *testing.T) {
	d := newDatabase(t, counting(t), books, "vacuum analyze book")
	inspecttest.Silent(t, d.inspected(d.repeat(20, "select count(*) from book where price > 3")), FindCache)
}
