package keys

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// Change is one line of the log of changes: who did what, and when.
type Change struct {
	At      time.Time
	By      string
	Product Product
	Name    string
	Version uint64
	// What is the kind of change: created, restricted, rotated or revoked.
	What string
	// Void is true if the change changed nothing, for example because another one came first.
	Void bool
	// Rules are the rules that the change set; nil for rotated and revoked.
	Rules *Rules
	// Prefix is the prefix of the secret that the change made; empty if it made none. GraceEnds is
	// when the earlier secrets end; zero for other changes than rotated.
	Prefix    string
	GraceEnds time.Time
	Reason    string
}

// History reads all changes from the topic, up to the end that it has now. It calls visit, in
// order, for each change whose product and name want accepts. The changes are not kept in memory:
// they are read seldom, and a node needs only the present keys.
func (l *Live) History(ctx context.Context, want func(product Product, name string) bool, visit func(Change)) error {
	ends, err := l.deps.Offsets.EndOffsets(ctx, topics)
	if err != nil {
		return err
	}
	if kafka.Covers(nil, ends) {
		return nil
	}
	tailer, err := l.deps.OpenTail([]string{schemas.TopicGatewayKeys}, nil)
	if err != nil {
		return err
	}
	defer tailer.Close()
	fold := newFold()
	for !kafka.Covers(tailer.Positions(), ends) {
		records, err := fetch(ctx, tailer)
		if err != nil {
			return err
		}
		for i := range records {
			change, err := parseChange(records[i].Value)
			if err != nil {
				continue // Live.take logs such a record
			}
			line := Change{
				At: time.UnixMilli(change.GetChangedAtMs()), By: change.GetChangedBy(), Product: Product(change.GetProduct()), Name: change.GetName(),
				Version: change.GetVersion(), What: kindOf(change), Void: fold.apply(change) != nil,
				Prefix: change.GetCreated().GetPrefix() + change.GetRotated().GetPrefix(), Reason: change.GetRevoked().GetReason(),
			}
			if !want(line.Product, line.Name) {
				continue
			}
			rules := change.GetCreated().GetRules()
			if rules == nil {
				rules = change.GetRestricted().GetRules()
			}
			if rules != nil {
				r := rulesOf(rules)
				line.Rules = &r
			}
			if ms := change.GetRotated().GetGraceEndsMs(); ms != 0 {
				line.GraceEnds = time.UnixMilli(ms)
			}
			visit(line)
		}
	}
	return nil
}
