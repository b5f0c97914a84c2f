package driver

import "context"

// KeyValueAdmin is implemented by drivers that can make the storage for records of a key and
// named fields ready: a table, a keyspace, a bucket, an index. It is called once before a load,
// never while requests are under way.
//
// Requests on such storage have the verbs Read, Scan, Insert, Update and Delete (or, where the
// driver takes SQL, statements), Text is the table and Fields are the fields' names. Parameters
// are the key and, for Insert and Update, one value for each of Fields; a Scan's are the first
// key and the count. No Fields in a Read or Scan means all. Captures name fields. A Read that
// finds no such key sets Reply.Missing and doesn't fail. A Batch's Text is one of these verbs in
// lower case, a space, and the table.
type KeyValueAdmin interface {
	// Prepare creates what is missing for a table of the given fields, each of at most
	// fieldLength bytes. drop removes what the table held before. An error is an *Error.
	Prepare(ctx context.Context, t Target, table string, fields []string, fieldLength int, drop bool) error
}
