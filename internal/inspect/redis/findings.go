package redis

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"brunt/internal/inspect"
	protocol "brunt/internal/protocol/redis"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The IDs of findings. They must not change.
const (
	FindSlowCommand = "slow-command"
	FindSlowScript  = "slow-script"
	FindBigValue    = "big-value"
	FindCPU         = "cpu-bound"
	FindFsync       = "fsync"
	FindFork        = "fork"
	FindOOM         = "oom"
	FindEviction    = "eviction"
	FindSlowReader  = "slow-reader"
	FindErrors      = "command-errors"
	FindMoved       = "moved"
	FindResync      = "resync"
	FindHotKey      = "hot-key"
)

// The thresholds of the findings.
const (
	slowCall    = 5 * time.Millisecond // mean time of a call
	slowLogged  = 10 * time.Millisecond
	slowShare   = 0.01    // of the load's duration
	bigAnswerB  = 100_000 // mean
	bigOutputB  = 1 << 20 // in one session's output buffer
	heldB       = 1 << 20 // in one session's output buffer, twice
	busyCPU     = 0.7     // of a core, in the main thread
	slowFsyncMs = 5
	slowFork    = 10 * time.Millisecond
	errorsShare = 0.01
	leastErrors = 5
	fewSlow     = 0.01 // of a command's calls
	// hotShare separates a key that half of the commands ask for from the most frequent one of a Zipf distribution with
	// the exponent 0.99 over 100,000 keys, which has 8 % (YCSB's default), and from all keys of 1,000 and more.
	hotShare  = 0.2 // of the commands with a key
	leastKeys = 500 // commands with a key
	starvedBy = 1.2 // times the main thread's CPU that executing commands took
)

// caseFile holds what findings are derived from, and the findings.
type caseFile struct {
	nodes      []*node
	load       *record.ServerWindow
	operations []inspect.Operation
	seconds    float64 // of the load
	calls      float64 // of all commands
	findings   []record.Finding
}

func judge(i *Inspector, out *record.Inspection, operations []inspect.Operation) {
	c := &caseFile{nodes: i.nodes, load: &out.Windows[0], operations: operations}
	c.seconds = float64(c.load.DurationNs) / 1e9
	for _, s := range c.load.Statements {
		c.calls += s.Calls
	}
	for _, rule := range []func(*caseFile){slowCommands, slowLog, bigValues, cpu, persistence, memory, readers,
		failures, replication, hotKey} {
		rule(c)
	}
	inspect.Rank(c.findings)
	out.Findings = c.findings
	if monitor := i.nodes[0].config["latency-monitor-threshold"]; monitor == "0" &&
		i.nodes[0].last["aof_enabled"] == "1" {
		out.Missing = append(out.Missing, record.NewWarning("inspect-redis-latency"))
	}
	if v := i.version(); strings.HasPrefix(v, "5.") || strings.HasPrefix(v, "4.") || strings.HasPrefix(v, "6.0") {
		out.Missing = append(out.Missing, record.Notice("inspect-redis-old", message.Text("version", v)))
	}
}

func (c *caseFile) add(f record.Finding) { c.findings = append(c.findings, f) }

// figures returns the figures of a node during the load.
func (c *caseFile) figures(n *node) map[string]float64 {
	return inspect.Figures(c.load, kindNode, n.client.target.Address)
}

// on names a node, if there are several.
func (c *caseFile) on(n *node) string {
	if len(c.nodes) == 1 {
		return "Redis"
	}
	return n.client.target.Address
}

// subject names a command with the operations that send it.
func subject(command string, operations []string) string {
	if len(operations) == 0 {
		return command
	}
	return command + " (" + strings.Join(operations, ", ") + ")"
}

// wall is the load's duration on all nodes, in ns.
func (c *caseFile) wall() float64 { return max(float64(c.load.DurationNs), 1) }

func isScript(command string) bool {
	return strings.HasPrefix(command, "eval") || strings.HasPrefix(command, "fcall")
}

// forks reports whether a command's time is that of a fork, which has a finding of its own.
func forks(command string) bool { return command == "bgsave" || command == "bgrewriteaof" }

// slowCommands finds commands whose calls take long on average.
func slowCommands(c *caseFile) {
	for _, s := range c.load.Statements {
		if s.MeanNs < float64(slowCall) || s.TotalNs < slowShare*c.wall() || forks(s.ID) {
			continue
		}
		example := c.slowest(s.ID)
		f := record.Finding{ID: FindSlowCommand, Severity: inspect.Grave(s.TotalNs / c.wall()), Statement: s.ID,
			Share: s.Share, Subject: subject(s.Text, c.senders(s.ID, s.Operations)), Advice: advice(s.ID)}
		f.Evidence = message.New("find.redis.slow", message.Count("calls", uint64(s.Calls)), message.Ns("mean", s.MeanNs),
			message.Share("share", min(s.TotalNs/c.wall(), 1)))
		if example != nil {
			f.Evidence = message.New("find.redis.slow.logged", message.Count("calls", uint64(s.Calls)),
				message.Ns("mean", s.MeanNs), message.Share("share", min(s.TotalNs/c.wall(), 1)),
				message.Text("command", shown(example.words)), message.Ns("took", float64(example.took)))
		}
		if isScript(s.ID) {
			f.ID = FindSlowScript
		}
		c.add(f)
	}
}

// slowLog finds commands of which only some calls take long.
func slowLog(c *caseFile) {
	type sum struct {
		took    time.Duration
		n       int
		longest *slow
	}
	sums := map[string]*sum{}
	for _, n := range c.nodes {
		for _, s := range n.slow {
			command := strings.ToLower(s.words[0])
			if s.took < slowLogged || own(s.words) || forks(command) {
				continue
			}
			of := sums[command]
			if of == nil {
				of = &sum{}
				sums[command] = of
			}
			of.took, of.n = of.took+s.took, of.n+1
			if of.longest == nil || s.took > of.longest.took {
				of.longest = &s
			}
		}
	}
	for _, command := range slices.Sorted(maps.Keys(sums)) {
		of := sums[command]
		if float64(of.took) < slowShare*c.wall() || c.starved() && float64(of.n) < fewSlow*c.callsOf(command) ||
			slices.ContainsFunc(c.findings, func(f record.Finding) bool {
				return f.Statement == command
			}) {
			continue
		}
		f := record.Finding{ID: FindSlowCommand, Severity: inspect.Grave(float64(of.took) / c.wall()), Statement: command,
			Subject: subject(text(command), c.senders(command, nil)), Advice: advice(command)}
		f.Evidence = message.New("find.redis.slow.some", message.Count("calls", uint64(of.n)),
			message.Ns("mean", float64(of.took)/float64(of.n)), message.Share("share", min(float64(of.took)/c.wall(), 1)),
			message.Text("command", shown(of.longest.words)), message.Ns("took", float64(of.longest.took)))
		if isScript(command) {
			f.ID = FindSlowScript
		}
		c.add(f)
	}
}

// callsOf returns the number of calls of a command, subcommands included.
func (c *caseFile) callsOf(command string) (calls float64) {
	for _, s := range c.load.Statements {
		if name, _, _ := strings.Cut(s.ID, "|"); name == command {
			calls += s.Calls
		}
	}
	return calls
}

// mainCPU returns the time that a node's main thread used, in s.
func mainCPU(v map[string]float64) float64 {
	if _, known := v["used_cpu_user_main_thread"]; !known { // before 6.2
		return v["used_cpu_user"] + v["used_cpu_sys"]
	}
	return v["used_cpu_user_main_thread"] + v["used_cpu_sys_main_thread"]
}

// starved reports whether main threads waited for a core while they executed commands: then single calls take long
// that aren't slow themselves.
func (c *caseFile) starved() bool {
	used, executing := 0.0, 0.0
	for _, n := range c.nodes {
		used += mainCPU(c.figures(n))
	}
	for _, s := range c.load.Statements {
		executing += s.TotalNs
	}
	return executing > starvedBy*used*1e9
}

// own reports whether a logged command is a question of an inspector.
func own(words []string) bool {
	switch strings.ToLower(words[0]) {
	case "info", "slowlog", "latency", "client", "config":
		return true
	}
	return false
}

// slowest returns the longest entry of the slow log with a command; nil if there is none.
func (c *caseFile) slowest(command string) (longest *slow) {
	for _, n := range c.nodes {
		for _, s := range n.slow {
			if strings.EqualFold(s.words[0], command) && (longest == nil || s.took > longest.took) {
				longest = &s
			}
		}
	}
	return longest
}

// senders returns the operations that send a command: those whose requests fit what the slow log has of it, otherwise
// known.
func (c *caseFile) senders(command string, known []string) (names []string) {
	entries := 0
	for _, n := range c.nodes {
		for _, s := range n.slow {
			if strings.EqualFold(s.words[0], command) {
				entries++
			}
		}
	}
	for k := range c.operations {
		o := &c.operations[k]
		sent := false
		for _, r := range o.Requests {
			sent = sent || entries == 0 && sends(r, command) || c.logged(r.Words, command, func(words []string) bool {
				return fits(r, words)
			})
		}
		if sent {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return known
	}
	return names
}

// logged reports whether the slow log has a command that fits.
func (c *caseFile) logged(template []string, command string, fits func([]string) bool) bool {
	if len(template) == 0 {
		return false
	}
	for _, n := range c.nodes {
		for _, s := range n.slow {
			if strings.EqualFold(s.words[0], command) && fits(s.words) {
				return true
			}
		}
	}
	return false
}

// shown returns a command as one short line.
func shown(words []string) string {
	const most = 80
	line := []rune(strings.Join(words, " "))
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}

// advice returns the remedy for a slow command.
func advice(command string) message.Message {
	command, _, _ = strings.Cut(command, "|")
	switch {
	case command == "keys":
		return message.New("find.redis.slow.keys")
	case isScript(command):
		return message.New("find.redis.script.advice")
	case command == "del" || strings.HasPrefix(command, "flush"):
		return message.New("find.redis.slow.delete")
	case slices.Contains([]string{"smembers", "hgetall", "hkeys", "hvals", "lrange", "zrange", "zrangebyscore",
		"zrevrange", "sunion", "sinter", "sdiff", "sort", "zunion", "xrange"}, command):
		return message.New("find.redis.slow.range")
	case command == "save":
		return message.New("find.redis.slow.save")
	}
	return message.New("find.redis.slow.other", message.Text("command", text(command)))
}

// bigValues finds operations with large answers and, if the load's operations aren't known to have any, sessions whose
// output buffers were large.
func bigValues(c *caseFile) {
	for k := range c.operations {
		o := &c.operations[k]
		if o.Done == 0 || o.BytesIn/o.Done < bigAnswerB {
			continue
		}
		c.add(record.Finding{ID: FindBigValue, Severity: record.Serious, Subject: o.Name,
			Evidence: message.New("find.redis.big", message.Bytes("size", o.BytesIn/o.Done),
				message.Count("n", uint64(o.Done))), Advice: message.New("find.redis.big.advice")})
	}
	if len(c.findings) > 0 && c.findings[len(c.findings)-1].ID == FindBigValue {
		return
	}
	for _, n := range c.nodes {
		v := c.figures(n)
		commands, out := v["total_commands_processed"], v["total_net_output_bytes"]
		largest := v["client_recent_max_output_buffer"]
		switch {
		case n.last.number("connected_slaves") > 0: // what they get isn't an answer
		case commands > 0 && out/commands >= bigAnswerB, largest >= bigOutputB &&
			n.first.number("client_recent_max_output_buffer") < bigOutputB && len(c.slowReaders(n)) == 0:
			c.add(record.Finding{ID: FindBigValue, Severity: record.Serious, Subject: c.on(n),
				Evidence: message.New("find.redis.big.server", message.Bytes("size", out/max(commands, 1)),
					message.Bytes("largest", largest)), Advice: message.New("find.redis.big.advice")})
		}
	}
}

// cpu finds nodes whose main thread has no CPU time left.
func cpu(c *caseFile) {
	for _, n := range c.nodes {
		v := c.figures(n)
		share := mainCPU(v) / max(c.seconds, 1e-9)
		if share < busyCPU {
			continue
		}
		executing := 0.0
		for _, s := range c.load.Statements {
			executing += s.TotalNs
		}
		c.add(record.Finding{ID: FindCPU, Severity: record.Critical, Subject: c.on(n), Share: min(share, 1),
			Evidence: message.New("find.redis.cpu", message.Share("share", min(share, 1)),
				message.Rate("rate", v["total_commands_processed"]/c.seconds),
				message.Share("executing", min(executing/float64(len(c.nodes))/c.wall(), 1))),
			Advice: message.New("find.redis.cpu.advice")})
	}
}

// persistence finds what writing to the disk costs: fsync and fork.
func persistence(c *caseFile) {
	for _, n := range c.nodes {
		v := c.figures(n)
		longest := max(n.events["aof-fsync-always"].maxMs, n.events["aof-write-pending-fsync"].maxMs,
			n.events["aof-write"].maxMs)
		switch delayed := v["aof_delayed_fsync"]; {
		case longest >= slowFsyncMs:
			c.add(record.Finding{ID: FindFsync, Blames: record.TimeDisk, Severity: record.Critical, Subject: c.on(n),
				Evidence: message.New("find.redis.fsync", message.Text("setting", n.config["appendfsync"]),
					message.Ns("longest", float64(longest)*1e6)), Advice: message.New("find.redis.fsync.advice")})
		case delayed > 0:
			c.add(record.Finding{ID: FindFsync, Blames: record.TimeDisk, Severity: record.Serious, Subject: c.on(n),
				Evidence: message.New("find.redis.fsync.delayed", message.Text("setting", n.config["appendfsync"]),
					message.Count("n", uint64(delayed))), Advice: message.New("find.redis.fsync.advice")})
		}
		fork := time.Duration(n.last.number("latest_fork_usec")) * time.Microsecond
		forks := v["total_forks"]
		if _, known := n.last["total_forks"]; !known && n.last["latest_fork_usec"] != n.first["latest_fork_usec"] {
			forks = 1
		}
		if forks > 0 && fork >= slowFork {
			c.add(record.Finding{ID: FindFork, Severity: record.Serious, Subject: c.on(n),
				Share: min(forks*float64(fork)/c.wall(), 1), Evidence: message.New("find.redis.fork",
					message.Count("n", uint64(forks)), message.Ns("took", float64(fork)),
					message.Bytes("memory", n.last.number("used_memory"))), Advice: message.New("find.redis.fork.advice")})
		}
	}
}

// memory finds nodes without free memory.
func memory(c *caseFile) {
	oom := inspect.Figures(c.load, kindError, "OOM")["count"]
	if oom > 0 {
		n := c.nodes[0]
		c.add(record.Finding{ID: FindOOM, Severity: record.Critical, Subject: c.on(n), Share: min(oom/max(c.calls, 1), 1),
			Evidence: message.New("find.redis.oom", message.Count("n", uint64(oom)),
				message.Text("policy", n.last["maxmemory_policy"]), message.Bytes("used", n.last.number("used_memory")),
				message.Bytes("limit", n.last.number("maxmemory"))), Advice: message.New("find.redis.oom.advice")})
	}
	for _, n := range c.nodes {
		v := c.figures(n)
		if v["evicted_keys"] <= 0 {
			continue
		}
		asked := v["keyspace_hits"] + v["keyspace_misses"]
		c.add(record.Finding{ID: FindEviction, Severity: record.Serious, Subject: c.on(n),
			Evidence: message.New("find.redis.eviction", message.Count("n", uint64(v["evicted_keys"])),
				message.Text("policy", n.last["maxmemory_policy"]), message.Bytes("limit", n.last.number("maxmemory")),
				message.Share("missed", v["keyspace_misses"]/max(asked, 1))), Advice: message.New("find.redis.eviction.advice")})
	}
}

// slowReaders returns the sessions that didn't read their answers, largest first.
func (c *caseFile) slowReaders(n *node) (all []*held) {
	for _, h := range n.held {
		if h.times >= 2 {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b *held) int { return cmp.Compare(b.maxB, a.maxB) })
	return all
}

// readers finds clients that don't read their answers.
func readers(c *caseFile) {
	for _, n := range c.nodes {
		all := c.slowReaders(n)
		if len(all) == 0 {
			continue
		}
		h := all[0]
		c.add(record.Finding{ID: FindSlowReader, Severity: record.Serious, Subject: c.on(n),
			Evidence: message.New("find.redis.reader", message.Count("n", uint64(len(all))), message.Bytes("held", h.maxB),
				message.Text("address", strings.TrimSpace(h.session["addr"]+" "+h.session["name"])),
				message.Text("command", text(h.session["cmd"]))), Advice: message.New("find.redis.reader.advice")})
	}
}

// failures finds errors that many commands met.
func failures(c *caseFile) {
	for _, e := range c.load.Counters {
		n := e.Values["count"]
		if e.Kind != kindError || n < leastErrors || n < errorsShare*(c.calls+n) || e.Name == "OOM" {
			continue
		}
		share := n / (c.calls + n)
		if e.Name == "MOVED" || e.Name == "ASK" {
			c.add(record.Finding{ID: FindMoved, Severity: record.Serious, Subject: e.Name, Share: share,
				Evidence: message.New("find.redis.moved", message.Count("n", uint64(n)), message.Share("share", share)),
				Advice:   message.New("find.redis.moved.advice")})
			continue
		}
		c.add(record.Finding{ID: FindErrors, Severity: record.Serious, Subject: subject(e.Name, c.failing()), Share: share,
			Evidence: message.New("find.redis.errors", message.Count("n", uint64(n)), message.Share("share", share),
				message.Text("commands", strings.Join(c.failed(), ", "))), Advice: failureAdvice(e.Name)})
	}
}

func failureAdvice(code string) message.Message {
	switch code {
	case "NOSCRIPT":
		return message.New("find.redis.errors.script")
	case "WRONGTYPE":
		return message.New("find.redis.errors.type")
	case "NOPERM", "NOAUTH":
		return message.New("find.redis.errors.rights")
	}
	return message.New("find.redis.errors.advice")
}

// failed returns the commands of which calls failed.
func (c *caseFile) failed() (names []string) {
	for _, s := range c.load.Statements {
		if s.More["failed_calls"]+s.More["rejected_calls"] > 0 {
			names = append(names, s.Text)
		}
	}
	return names
}

// failing returns the operations that send commands of which calls failed.
func (c *caseFile) failing() (names []string) {
	for _, s := range c.load.Statements {
		for _, o := range s.Operations {
			if s.More["failed_calls"]+s.More["rejected_calls"] > 0 && !slices.Contains(names, o) {
				names = append(names, o)
			}
		}
	}
	return names
}

// replication finds replicas that had to be synchronized in full again.
func replication(c *caseFile) {
	for _, n := range c.nodes {
		v := c.figures(n)
		if v["sync_full"]+v["sync_partial_err"] <= 0 {
			continue
		}
		behind := 0.0
		for _, b := range n.lagMax {
			behind = max(behind, b)
		}
		c.add(record.Finding{ID: FindResync, Severity: record.Serious, Subject: c.on(n),
			Evidence: message.New("find.redis.resync", message.Count("full", uint64(v["sync_full"])),
				message.Count("failed", uint64(v["sync_partial_err"])), message.Bytes("behind", behind),
				message.Bytes("backlog", n.last.number("repl_backlog_size"))), Advice: message.New("find.redis.resync.advice")})
	}
}

// hotKey finds a key that many commands ask for. The keys are those that the load draws, so the server isn't asked for
// them. It is no fault of a single server with time left, but in a cluster one node does what all were to do.
func hotKey(c *caseFile) {
	keys, all := map[string]int{}, 0
	for k := range c.operations {
		if c.operations[k].Commands == nil {
			continue
		}
		c.operations[k].Commands(func(words []string) {
			if at := protocol.KeyWord(words); at >= 0 {
				keys[words[at]]++
				all++
			}
		})
	}
	hottest := ""
	for key, n := range keys {
		if n > keys[hottest] || n == keys[hottest] && key < hottest {
			hottest = key
		}
	}
	share := float64(keys[hottest]) / float64(max(all, 1))
	if all < leastKeys || share < hotShare {
		return
	}
	severity := record.Minor
	if len(c.nodes) > 1 || slices.ContainsFunc(c.findings, func(f record.Finding) bool { return f.ID == FindCPU }) {
		severity = record.Serious
	}
	c.add(record.Finding{ID: FindHotKey, Severity: severity, Subject: shown([]string{hottest}),
		Evidence: message.New("find.redis.hot", message.Share("share", share), message.Count("n", uint64(all)),
			message.Count("keys", uint64(len(keys)))), Advice: message.New("find.redis.hot.advice")})
}
