package tpcb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/server/schema/sql"
)

// LanguageName is the name of the language of TPC-B's transaction in plans. Its only script is the transaction's name.
const LanguageName = "tpcb"

// transaction is the name of the transaction.
const transaction = "deposit"

// The options of the language.
const (
	optionSystem    = "system"
	optionBranches  = "branches"
	optionAccounts  = "accounts"
	optionIsolation = "isolation"
)

// The counters of the transaction.
const countRemote = "account of another branch"

// Language is the language of TPC-B's transaction.
type Language struct {
	Now func() time.Time // the clock of dates in the data
}

var _ script.Language = Language{}

// Name returns LanguageName.
func (Language) Name() string { return LanguageName }

// Compile compiles the transaction.
func (l Language) Compile(s *script.Source) (script.Program, error) {
	for i, op := range s.Operations {
		if strings.TrimSpace(op.Text) != transaction {
			return nil, &script.Error{Operation: i, Line: 1, Text: fmt.Sprintf("there is no transaction %q; write %s",
				strings.TrimSpace(op.Text), transaction)}
		}
	}
	p := &program{now: l.Now, draws: gen.NewStream(s.Seed, "tpcb", "load")}
	known := []string{optionSystem, optionBranches, optionAccounts, optionIsolation}
	for name := range s.Options {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("TPC-B has no option %s; it has %s", name, strings.Join(known, ", "))
		}
	}
	system, ok := tpc.Flavor(s.Options[optionSystem])
	if !ok {
		return nil, fmt.Errorf("option %s: %q is none of %s", optionSystem, s.Options[optionSystem],
			strings.Join(tpc.Systems(), ", "))
	}
	p.branches, p.accounts = 1, accountsOfBranch
	for name, to := range map[string]*int64{optionBranches: &p.branches, optionAccounts: &p.accounts} {
		text, given := s.Options[name]
		if !given {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("option %s: %q isn't a whole number of at least 1", name, text)
		}
		*to = n
	}
	isolation := s.Options[optionIsolation]
	if isolation != "" {
		if err := tpc.Isolation(isolation); err != nil {
			return nil, err
		}
	}
	p.build(system, isolation)
	return p, nil
}

// program is the compiled transaction.
type program struct {
	branches, accounts      int64
	flavor                  sql.Flavor
	system                  protocol.Flavor
	historyKey              bool
	now                     func() time.Time
	draws                   gen.Stream
	requests                []protocol.Request
	begin, commit, rollback int

	account, read, teller, branch, history int
}

// build writes the statements (clause 1.2). Each changes its row by one statement, so that read committed, which auto
// asks for, gives what serializable gives.
func (p *program) build(system protocol.Flavor, isolation string) {
	p.system, p.flavor = system, tpc.SQL(system)
	switch isolation {
	case "auto", "":
		isolation = "read committed"
	case "default":
		isolation = ""
	}
	b := &tpc.Statements{Flavor: system}
	p.begin, p.commit, p.rollback = b.Frame(transaction, isolation)
	p.account = b.Add("account", "UPDATE tpcb_accounts SET abalance = abalance + $1 WHERE aid = $2", "ii", "")
	p.read = b.Add("balance", "SELECT abalance FROM tpcb_accounts WHERE aid = $1", "i", "i")
	p.teller = b.Add("teller", "UPDATE tpcb_tellers SET tbalance = tbalance + $1 WHERE tid = $2", "ii", "")
	p.branch = b.Add("branch", "UPDATE tpcb_branches SET bbalance = bbalance + $1 WHERE bid = $2", "ii", "")
	columns, values, params := "tid, bid, aid, delta, mtime, filler", "$1, $2, $3, $4, $5, $6", "iiiits"
	all := schema()
	if p.historyKey = len(all[history].For(system).Keys) > 0; p.historyKey {
		columns, values, params = columns+", hid", values+", $7", params+"i"
	}
	p.history = b.Add("history", "INSERT INTO tpcb_history ("+columns+") VALUES ("+values+")", params, "")
	p.requests = b.List
}

// Requests returns the statements.
func (p *program) Requests(int) []protocol.Request { return p.requests }

// Counters returns what the transaction counts.
func (*program) Counters(int) []string { return []string{countRemote} }

// Session returns a session.
func (p *program) Session(number int) script.Session {
	s := &session{p: p, number: int64(number)}
	s.Flavor = p.flavor
	return s
}

// session sends transactions.
type session struct {
	tpc.Flow
	p      *program
	number int64

	teller, branch, account, delta int64
	counts                         [1]uint32
}

// maxDelta is the greatest amount (clause 1.3.3).
const maxDelta = 999_999

// Begin begins a transaction, whose input is a function of its number.
func (s *session) Begin(_ int, index uint64) script.Step {
	r := s.p.draws.At(index)
	s.enter(&r)
	return s.Again()
}

// enter draws a teller, and an account: of the teller's branch in 85 of 100 cases, and otherwise of another, each equally
// likely (clause 5.3.5). With one branch all accounts are its.
func (s *session) enter(r *gen.Rand) {
	p := s.p
	s.teller = r.Between(1, p.branches*tellersOfBranch)
	s.branch = (s.teller-1)/tellersOfBranch + 1
	at := s.branch
	s.counts[0] = 0
	if r.Between(1, 100) > 85 && p.branches > 1 {
		if at = r.Between(1, p.branches-1); at >= s.branch {
			at++
		}
		s.counts[0] = 1
	}
	s.account = (at-1)*p.accounts + r.Between(1, p.accounts)
	s.delta = r.Between(-maxDelta, maxDelta)
}

// Again begins it once more.
func (s *session) Again() script.Step {
	s.Start()
	if s.p.begin >= 0 {
		return s.Flow.Begin(s.p.begin, s.changeAccount)
	}
	return s.changeAccount()
}

// Answered continues a transaction.
func (s *session) Answered(r *protocol.Reply) script.Step { return s.Flow.Answered(r, s.p.rollback) }

// Resume isn't called: transactions don't pause.
func (s *session) Resume() script.Step { return script.Step{} }

func (s *session) changeAccount() script.Step {
	p := s.p
	s.Int(s.delta).Int(s.account)
	return s.Send(p.account, func(*protocol.Reply) script.Step {
		s.Int(s.account)
		return s.Send(p.read, func(r *protocol.Reply) script.Step {
			if _, found := tpc.IntOf(&r.Captured[0]); !found {
				return s.Fail(tpc.Missing("account "+itoa(s.account)), p.rollback)
			}
			s.Int(s.delta).Int(s.teller)
			return s.Send(p.teller, func(*protocol.Reply) script.Step {
				s.Int(s.delta).Int(s.branch)
				return s.Send(p.branch, func(*protocol.Reply) script.Step { return s.addHistory() })
			})
		})
	})
}

func (s *session) addHistory() script.Step {
	p, now := s.p, s.p.now()
	s.Int(s.teller).Int(s.branch).Int(s.account).Int(s.delta).Time(now).Text("TPC-B by brunt        ")
	if p.historyKey {
		s.Int(now.UnixMicro()<<10 | s.number%1024) // two sessions never have one number in one microsecond
	}
	return s.Send(p.history, func(*protocol.Reply) script.Step {
		if p.commit < 0 {
			return script.Step{Counts: s.counts[:]}
		}
		return s.Commit(p.commit, s.counts[:])
	})
}
