package parse

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mintlake/mintlake/internal/protofields"
	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// details implements chain.Details. It keeps parts of the encoded metadata and parses them on
// demand.
type details struct {
	// json means that logs, pre and post are texts of JSON arrays. Otherwise logs is the part of
	// the protobuf message with the log lines, and pre and post are packed varints. pre and post
	// are the lamports before and after the transaction.
	json            bool
	logs, pre, post []byte
}

// maxLines bounds the log lines of one transaction. Nodes cut logs at 10 KB. A node that keeps all
// lines has far fewer.
const maxLines = 1 << 14

// Field numbers of TransactionStatusMeta (agave's storage-proto confirmed_block.proto).
const (
	fieldErr                   = 1
	fieldPreBalances           = 3
	fieldPostBalances          = 4
	fieldInnerInstructions     = 5
	fieldLogMessages           = 6
	fieldPreTokenBalances      = 7
	fieldPostTokenBalances     = 8
	fieldInnerInstructionsNone = 10
	fieldLoadedWritable        = 12
	fieldLoadedReadonly        = 13
)

// errStop ends a walk over a JSON array before the array's end.
var errStop = errors.New("stop")

// Logs implements chain.Details.
func (d *details) Logs(visit func(line []byte) bool) {
	if d.json {
		r := jsonwalk.New(d.logs)
		_ = r.Array(func(i int) error {
			line, err := r.String()
			if err == nil && (i >= maxLines || !visit(line)) {
				return errStop
			}
			return err
		})
		return
	}
	lines := 0
	for w := (protofields.Fields{Rest: d.logs}); w.Next() && lines < maxLines; {
		if w.IsBytes(fieldLogMessages) {
			lines++
			if !visit(w.Bytes) {
				return
			}
		}
	}
}

// Lamports implements chain.Details.
func (d *details) Lamports(pre, post []uint64) (before, after []uint64) {
	if d.json {
		return jsonNumbers(pre, d.pre), jsonNumbers(post, d.post)
	}
	return packedNumbers(pre, d.pre), packedNumbers(post, d.post)
}

func jsonNumbers(to []uint64, text []byte) []uint64 {
	r := jsonwalk.New(text)
	_ = r.Array(func(i int) error {
		n, err := r.Uint64()
		if err == nil && i < maxKeys {
			to = append(to, n)
		}
		return err
	})
	return to
}

func packedNumbers(to []uint64, data []byte) []uint64 {
	for i := 0; i < maxKeys && len(data) > 0; i++ {
		n, size := protowire.ConsumeVarint(data)
		if size < 0 {
			break
		}
		to, data = append(to, n), data[size:]
	}
	return to
}

// log adds the current field of w, a log line, to d.logs. data is the message that w goes over.
//
// d.logs is a part of data, so that no line is copied: log makes that part longer by the field.
// This relies on protobuf writers, which put all values of a repeated field side by side.
func (d *details) log(w *protofields.Fields, data []byte) {
	end := len(data) - len(w.Rest)                       // the end of the field
	start := end - 1 - protowire.SizeBytes(len(w.Bytes)) // the tag has one byte
	if d.logs != nil {
		start -= len(d.logs)
	}
	if start >= 0 {
		d.logs = data[start:end:end]
	}
}

// detailsOf copies d into the block's memory.
func (b *builder) detailsOf(d details) *details {
	kept := &b.details.take(1)[0]
	*kept = d
	return kept
}
