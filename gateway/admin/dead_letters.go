package admin

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/httpjson"
)

// DeadLetters lists and replays dead letters. *deadletter.Store implements it.
type DeadLetters interface {
	// List returns the newest dead letters, at most perPartition from each partition of their
	// topic. They are sorted by age, the oldest first.
	List(ctx context.Context, perPartition int64) ([]deadletter.Letter, error)
	// Replay writes the record that a dead letter is about to its topic again. partition and offset
	// are those of the dead letter.
	Replay(ctx context.Context, partition int, offset int64) (*deadletter.Letter, error)
}

// DeadLetterAnswer is one dead letter. Its texts come from outside, so pages must escape them.
type DeadLetterAnswer struct {
	// Partition and Offset are the place of the dead letter itself.
	At        time.Time `json:"at"`
	Partition int       `json:"partition"`
	Offset    int64     `json:"offset"`
	// Source is the room that could not process the record, and Reason says why.
	Source string `json:"source"`
	Reason string `json:"reason"`
	// Record is the place of the record that the dead letter is about. It is absent for an input
	// that was no record.
	Record *RecordPlace `json:"record,omitempty"`
	// Key is the record's key, or the name of an input that was no record, at most 1,024 bytes.
	Key        string `json:"key"`
	ValueBytes uint64 `json:"value_bytes"`
}

// RecordPlace is the place of a record in Kafka.
type RecordPlace struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func deadLetterOf(l *deadletter.Letter) DeadLetterAnswer {
	a := DeadLetterAnswer{At: l.At.UTC(), Partition: l.Partition, Offset: l.Offset, Source: l.GetSource(), Reason: l.GetReason(),
		Key: strings.ToValidUTF8(string(l.GetKey()), "�"), ValueBytes: l.GetValueBytes()}
	if l.Err != nil {
		a.Reason = "this record is no dead letter: " + l.Err.Error()
	}
	if l.GetTopic() != "" && l.GetOffset() >= 0 {
		a.Record = &RecordPlace{l.GetTopic(), l.GetPartition(), l.GetOffset()}
	}
	return a
}

// maxDeadLetters bounds the dead letters of each partition in an answer.
const maxDeadLetters = 500

// deadLetters serves GET /v1/dead-letters?limit=. It answers the newest dead letters, at most limit
// of each partition, the oldest first.
func (s *Server) deadLetters(w http.ResponseWriter, r *http.Request) error {
	limit, err := limitOf(r, maxDeadLetters)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), historyPatience)
	defer cancel()
	letters, err := s.deps.DeadLetters.List(ctx, int64(limit))
	if err != nil {
		s.deps.Logger.Warn("dead letters cannot be read", "err", err)
		return &publicError{http.StatusServiceUnavailable, "dead letters cannot be read now: Kafka does not answer"}
	}
	answers := make([]DeadLetterAnswer, len(letters))
	for i := range letters {
		answers[i] = deadLetterOf(&letters[i])
	}
	httpjson.Write(w, http.StatusOK, map[string]any{"dead_letters": answers})
	return nil
}

// replay serves POST /v1/dead-letters/{partition}/{offset}/replay. It writes the record that this
// dead letter is about to the record's topic again.
func (s *Server) replay(w http.ResponseWriter, r *http.Request) error {
	partition, err := strconv.ParseUint(r.PathValue("partition"), 10, 31)
	if err != nil {
		return invalid("the partition must be a number")
	}
	offset, err := strconv.ParseUint(r.PathValue("offset"), 10, 63)
	if err != nil {
		return invalid("the offset must be a number")
	}
	// The body has no members. readBody checks that no page of another origin sent it.
	if err := readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), historyPatience)
	defer cancel()
	letter, err := s.deps.DeadLetters.Replay(ctx, int(partition), int64(offset))
	switch {
	case errors.Is(err, deadletter.ErrNoLetter):
		return &publicError{http.StatusNotFound, err.Error()}
	case errors.Is(err, deadletter.ErrGone), errors.Is(err, deadletter.ErrNoRecord), errors.Is(err, deadletter.ErrOther):
		return &publicError{http.StatusGone, err.Error()}
	case err != nil:
		s.deps.Logger.Warn("a dead letter cannot be replayed", "err", err)
		return &publicError{http.StatusServiceUnavailable, "Kafka did not answer in time; whether the record was written again is unknown, and a second time does no harm"}
	}
	s.deps.Logger.Info("dead letter replayed", "partition", partition, "offset", offset, "topic", letter.GetTopic(), "by", actorOf(r))
	httpjson.Write(w, http.StatusOK, deadLetterOf(letter))
	return nil
}
