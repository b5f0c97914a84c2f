package measure

// MaxEvents is how many events an account names; later ones are left out.
const MaxEvents = 1024

// Event is something that was done or decided while the load ran: a restart of a server, a fault, a
// change of the load, a remark.
type Event struct {
	AtNs int64  // on the run's clock
	Kind string // one word, such as "note", "restart", "fault", "healed" or "decision"
	Text string // for people
}
