package api

import (
	"strings"

	"github.com/mintlake/mintlake/api/feed"
	"github.com/mintlake/mintlake/api/requests"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/replica/evidence"
)

// replicaView reads the server's replica, for listeners. They must be made before the replica,
// which reports its changes to them, and so they cannot be given the replica itself.
type replicaView struct{ *Server }

func (s replicaView) Token(id uint32) *registry.Token { return s.replica.Token(id) }

func (s replicaView) Extensions(id uint32) (kinds []string) {
	s.replica.Row(id, func(row *replica.Row) {
		for _, kind := range row.Extensions {
			kinds = append(kinds, strings.Clone(kind))
		}
	})
	return kinds
}

// Thin returns whether the token was traded, but on a market that does not count: see
// replica.Market.Counts.
func (s replicaView) Thin(id uint32) bool {
	m := s.replica.Market(id)
	return m != nil && !m.Counts()
}

// buildListeners makes the evidence and the feed, to which the replica reports changes.
func (s *Server) buildListeners() (err error) {
	if s.evidence, err = evidence.New(replicaView{s}); err != nil {
		return err
	}
	streams := s.cfg.Streams
	s.feed, err = feed.New(
		feed.Config{MaxStreams: streams.Max, MaxPerClient: streams.PerClient, MaxReplay: int64(streams.MaxReplay), Networks: s.cfg.RateLimits.networks()},
		feed.Deps{
			Applied: func() feed.Offsets { return s.replica.Applied() }, Ready: func() bool { return s.replica.Ready() },
			Log: s.deps.Offsets,
			OpenTail: func(topics []string, start feed.Offsets) (kafka.TailReader, error) {
				return s.deps.OpenTail(topics, start)
			},
			Logger: s.deps.Logger, Registerer: s.deps.Registerer,
		})
	return err
}

// failures returns the part that tells the queue of requests which mints enrichment gives up from
// now on.
func (s *Server) failures() *requests.Failures {
	return &requests.Failures{
		Logger: s.deps.Logger, Failed: s.requests.Failed,
		Open: s.openAtEnd,
	}
}
