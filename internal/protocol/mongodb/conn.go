package mongodb

import (
	"context"
	"errors"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// conn is a session with its own client.
type conn struct {
	client   *mongo.Client
	database *mongo.Database
	upsert   bool
	kv.Requests
	secret string
}

var _ protocol.AdHoc = (*conn)(nil)

// Do executes one request.
func (c *conn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	r := c.Begin(req, args, reply)
	if r == nil {
		return
	}
	table := c.database.Collection(r.Table)
	var err error
	switch {
	case r.Verb == protocol.Read && r.Rows == 1:
		err = c.read(ctx, table, r, args, reply)
	case r.Verb == protocol.Read:
		err = c.find(ctx, table, r, bson.D{{Key: "_id", Value: among(r, args)}}, r.Rows, reply)
		reply.Missing = err == nil && reply.Rows < r.Distinct(args)
	case r.Verb == protocol.Scan:
		count, refused := kv.Count(args)
		if refused != nil {
			reply.Fail(refused)
			return
		}
		err = c.find(ctx, table, r, bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: keyOf(&args[0])}}}},
			count, reply)
	case r.Verb == protocol.Delete:
		var result *mongo.DeleteResult
		if result, err = table.DeleteMany(ctx, bson.D{{Key: "_id", Value: among(r, args)}}); err == nil {
			reply.Affected, reply.Missing = result.DeletedCount, result.DeletedCount < r.Distinct(args)
		}
	default:
		err = c.write(ctx, table, r, args, reply)
	}
	if err != nil {
		reply.Fail(failure(ctx, req, err, c.secret))
	}
}

// among returns the condition on _id that matches the keys of all rows.
func among(r *kv.Request, args []gen.Value) any {
	if r.Rows == 1 {
		return keyOf(&args[0])
	}
	keys := make(bson.A, r.Rows)
	for i := range keys {
		keys[i] = keyOf(&args[i*r.PerRow])
	}
	return bson.D{{Key: "$in", Value: keys}}
}

// projection selects the request's fields; nil means all.
func projection(r *kv.Request) any {
	if len(r.Fields) == 0 {
		return nil
	}
	d := make(bson.D, len(r.Fields))
	for i, f := range r.Fields {
		d[i] = bson.E{Key: f, Value: 1}
	}
	return d
}

func (c *conn) read(ctx context.Context, table *mongo.Collection, r *kv.Request, args []gen.Value,
	reply *protocol.Reply) error {
	o := options.FindOne()
	if p := projection(r); p != nil {
		o.SetProjection(p)
	}
	document, err := table.FindOne(ctx, bson.D{{Key: "_id", Value: keyOf(&args[0])}}, o).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		reply.Missing = true
		return nil
	}
	if err == nil {
		take(r, document, reply)
	}
	return err
}

// take adds a document to the reply.
func take(r *kv.Request, document bson.Raw, reply *protocol.Reply) {
	record := kv.Record{Names: func() []string { return namesOf(document) }}
	if r.Wants(reply) {
		record.Field = func(field string) ([]byte, bool) {
			return content(document.Lookup(field))
		}
		record.Key, _ = record.Field("_id")
		record.Own = func(field string, v *gen.Value) bool { return pack(v, document.Lookup(field)) }
	}
	r.Take(reply, record)
	reply.BytesIn += int64(len(document))
}

// namesOf returns the names of a document's fields, except _id.
func namesOf(document bson.Raw) (names []string) {
	elements, _ := document.Elements()
	for _, e := range elements {
		if e.Key() != "_id" {
			names = append(names, e.Key())
		}
	}
	return names
}

// find reads up to count documents in key order.
func (c *conn) find(ctx context.Context, table *mongo.Collection, r *kv.Request, where bson.D, count int,
	reply *protocol.Reply) error {
	o := options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(count)).SetBatchSize(int32(count))
	if p := projection(r); p != nil {
		o.SetProjection(p)
	}
	cursor, err := table.Find(ctx, where, o)
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		take(r, cursor.Current, reply)
	}
	return cursor.Err()
}

// fields returns a row's fields as a document. If key isn't nil, the document begins with it as _id.
func fields(r *kv.Request, key any, args []gen.Value) bson.D {
	d := make(bson.D, 0, len(r.Fields)+1)
	if key != nil {
		d = append(d, bson.E{Key: "_id", Value: key})
	}
	for i, f := range r.Fields {
		d = append(d, bson.E{Key: f, Value: fieldOf(&args[1+i])})
	}
	return d
}

// write inserts or updates the rows: a single row with its own request, several rows in bulk.
func (c *conn) write(ctx context.Context, table *mongo.Collection, r *kv.Request, args []gen.Value,
	reply *protocol.Reply) error {
	key := keyOf(&args[0])
	where := func(key any) bson.D { return bson.D{{Key: "_id", Value: key}} }
	set := func(row []gen.Value) bson.D { return bson.D{{Key: "$set", Value: fields(r, nil, row)}} }
	if r.Rows == 1 {
		switch {
		case r.Verb == protocol.Update:
			result, err := table.UpdateOne(ctx, where(key), set(args))
			if err == nil {
				reply.Affected, reply.Missing = result.MatchedCount, result.MatchedCount == 0
			}
			return err
		case c.upsert:
			reply.Affected = 1
			result, err := table.ReplaceOne(ctx, where(key), fields(r, nil, args), options.Replace().SetUpsert(true))
			reply.Missing = err == nil && result.UpsertedCount == 0
			return err
		}
		reply.Affected = 1
		_, err := table.InsertOne(ctx, fields(r, key, args))
		return err
	}
	models := make([]mongo.WriteModel, r.Rows)
	for i := range models {
		row := args[i*r.PerRow:][:r.PerRow]
		key := keyOf(&row[0])
		switch {
		case r.Verb == protocol.Update:
			models[i] = mongo.NewUpdateOneModel().SetFilter(where(key)).SetUpdate(set(row))
		case c.upsert:
			models[i] = mongo.NewReplaceOneModel().SetFilter(where(key)).SetReplacement(fields(r, nil, row)).SetUpsert(true)
		default:
			models[i] = mongo.NewInsertOneModel().SetDocument(fields(r, key, row))
		}
	}
	result, err := table.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if result != nil {
		reply.Affected = result.InsertedCount + result.MatchedCount + result.UpsertedCount
	}
	switch {
	case err != nil:
	case r.Verb == protocol.Update:
		reply.Missing = reply.Affected < int64(r.Rows)
	case c.upsert:
		reply.Missing = result.UpsertedCount < r.Distinct(args)
	}
	return err
}

// Close ends the session; it is safe to call twice.
func (c *conn) Close() error {
	client := c.client
	c.client = nil
	if client == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // don't wait for connections in use: there are none, or they are broken
	if err := client.Disconnect(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
