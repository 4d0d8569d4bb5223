package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

const protocolType = "consumer"

// membership speaks the group protocol for one member. It is used by one goroutine, but for
// generation.
type membership struct {
	client     *client
	joinClient *kafkago.Client // its timeout allows for the rebalance
	group      string
	instance   string
	topics     []string
	session    time.Duration
	rebalance  time.Duration
	strategy   strategy
	// answered, when set, is told of each heartbeat that succeeded: when it was sent.
	answered func(sent time.Time)

	memberID string
	userData []byte // what this member tells whoever assigns
}

// strategy is how the member that the coordinator chose for it assigns partitions to all.
type strategy struct {
	name   string
	assign func(members []kafkago.JoinGroupResponseMember, counts map[string]int) map[string]map[string][]int
}

// rangeStrategy is Kafka's range assignor: each topic's partitions are cut into runs over the
// sorted members. Topics with equally many partitions are so assigned alike, and one member sees
// all of a key's records.
var rangeStrategy = strategy{"range", func(members []kafkago.JoinGroupResponseMember, counts map[string]int) map[string]map[string][]int {
	subscribed := make(map[string][]string) // topic to members
	for _, member := range members {
		for _, topic := range member.Metadata.Topics {
			subscribed[topic] = append(subscribed[topic], member.ID)
		}
	}
	return assignRange(subscribed, counts)
}}

// generation is one assignment of partitions to this member.
type generation struct {
	id       int64 // counts up in this process; the broker's number may begin again
	brokerID int
	memberID string
	start    map[TopicPartition]int64 // where to begin, offsetUnknown where nothing is committed

	mu        sync.Mutex
	committed map[TopicPartition]int64
}

// join makes this member part of the group and returns what it is to read.
func (m *membership) join(ctx context.Context) (*generation, error) {
	resp, err := m.joinGroup(ctx)
	if err != nil {
		return nil, err
	}
	assignments, err := m.assign(ctx, resp)
	if err != nil {
		return nil, err
	}
	sync, err := m.joinClient.SyncGroup(ctx, &kafkago.SyncGroupRequest{
		GroupID: m.group, GenerationID: resp.GenerationID, MemberID: m.memberID, GroupInstanceID: m.instance,
		ProtocolType: protocolType, ProtocolName: resp.ProtocolName, Assignments: assignments,
	})
	if err == nil {
		err = sync.Error
	}
	if err != nil {
		return nil, m.lost(fmt.Errorf("sync group: %w", err))
	}
	var assigned []TopicPartition
	for topic, partitions := range sync.Assignment.AssignedPartitions {
		for _, p := range partitions {
			assigned = append(assigned, TopicPartition{Topic: topic, Partition: p})
		}
	}
	start, err := m.client.committed(ctx, m.group, assigned)
	if err != nil {
		return nil, fmt.Errorf("read committed offsets: %w", err)
	}
	g := &generation{brokerID: resp.GenerationID, memberID: m.memberID, start: start, committed: make(map[TopicPartition]int64, len(start))}
	for tp, offset := range start {
		g.committed[tp] = offset
	}
	return g, nil
}

// joinGroup asks until the coordinator has given this member an id and waited for the others.
func (m *membership) joinGroup(ctx context.Context) (*kafkago.JoinGroupResponse, error) {
	for range 2 {
		resp, err := m.joinClient.JoinGroup(ctx, &kafkago.JoinGroupRequest{
			GroupID: m.group, MemberID: m.memberID, GroupInstanceID: m.instance, SessionTimeout: m.session, RebalanceTimeout: m.rebalance,
			ProtocolType: protocolType,
			Protocols: []kafkago.GroupProtocol{{
				Name: m.strategy.name, Metadata: kafkago.GroupProtocolSubscription{Topics: m.topics, UserData: m.userData},
			}},
		})
		if err == nil && isCode(resp.Error, kafkago.MemberIDRequired) {
			m.memberID = resp.MemberID
			continue
		}
		if err == nil {
			err = resp.Error
		}
		if err != nil {
			return nil, m.lost(fmt.Errorf("join group: %w", err))
		}
		m.memberID = resp.MemberID
		return resp, nil
	}
	return nil, fmt.Errorf("join group: %w", kafkago.MemberIDRequired)
}

// lost forgets a member id that the coordinator does not know.
func (m *membership) lost(err error) error {
	if isCode(err, kafkago.UnknownMemberId) {
		m.memberID = ""
	}
	return err
}

// assign is the leader's work: nil for everyone else.
func (m *membership) assign(ctx context.Context, resp *kafkago.JoinGroupResponse) ([]kafkago.SyncGroupRequestAssignment, error) {
	if resp.LeaderID != resp.MemberID {
		return nil, nil
	}
	var topics []string
	for _, member := range resp.Members {
		topics = append(topics, member.Metadata.Topics...)
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	counts, err := m.client.partitions(ctx, topics...)
	if err != nil {
		return nil, err
	}
	plan := m.strategy.assign(resp.Members, counts)
	out := make([]kafkago.SyncGroupRequestAssignment, 0, len(resp.Members))
	for _, member := range resp.Members {
		out = append(out, kafkago.SyncGroupRequestAssignment{
			MemberID: member.ID, Assignment: kafkago.GroupProtocolAssignment{AssignedPartitions: plan[member.ID]},
		})
	}
	return out, nil
}

// assignRange is Kafka's range assignor: for each topic the members in order of their id get runs
// of partitions, the first ones one more where it does not divide evenly.
func assignRange(subscribed map[string][]string, counts map[string]int) map[string]map[string][]int {
	plan := make(map[string]map[string][]int)
	for topic, members := range subscribed {
		members = slices.Clone(members)
		slices.Sort(members)
		members = slices.Compact(members)
		next, count := 0, counts[topic]
		for i, member := range members {
			n := count / len(members)
			if i < count%len(members) {
				n++
			}
			if plan[member] == nil {
				plan[member] = make(map[string][]int)
			}
			for p := next; p < next+n; p++ {
				plan[member][topic] = append(plan[member][topic], p)
			}
			next += n
		}
	}
	return plan
}

// stay sends heartbeats until the member must join again, ctx ends (nil), or no answer came for a
// session. kick asks for a heartbeat at once.
func (m *membership) stay(ctx context.Context, g *generation, interval time.Duration, kick <-chan struct{}, failed func(error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	answered := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-kick:
		case <-ticker.C:
		}
		sent := time.Now()
		resp, err := m.client.Heartbeat(ctx, &kafkago.HeartbeatRequest{
			GroupID: m.group, GenerationID: int32(g.brokerID), MemberID: g.memberID, GroupInstanceID: m.instance,
		})
		if err == nil {
			err = swappedError(resp.Error, resp.Throttle)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			answered = time.Now()
			if m.answered != nil {
				m.answered(sent)
			}
		case isCode(err, kafkago.RebalanceInProgress):
			return nil // no fault of anyone
		case mustRejoin(err):
			return m.lost(err)
		default:
			if !Retryable(err) || time.Since(answered) > m.session {
				return fmt.Errorf("heartbeat: %w", err)
			}
			failed(err)
		}
	}
}

// leave tells the coordinator, so that the others need not wait for the session to time out.
func (m *membership) leave(ctx context.Context) error {
	if m.memberID == "" || m.instance != "" {
		return nil // a static member comes back under its name
	}
	resp, err := m.client.LeaveGroup(ctx, &kafkago.LeaveGroupRequest{GroupID: m.group, Members: []kafkago.LeaveGroupRequestMember{{ID: m.memberID}}})
	if err != nil {
		return fmt.Errorf("leave group: %w", err)
	}
	errs := []error{swappedError(resp.Error, resp.Throttle)}
	for _, member := range resp.Members {
		errs = append(errs, member.Error)
	}
	return errors.Join(errs...)
}

// swappedError is the true error of a Heartbeat or LeaveGroup response. kafka-go 0.4.51 reads their
// two first fields in the wrong order (the protocol has throttle_time_ms, int32, before error_code,
// int16), so every error looks like success with a throttle time of as many milliseconds as its
// code. Where a later version reads them right, decoded is set and this changes nothing but for a
// throttled answer, which then costs a rejoin.
func swappedError(decoded error, throttle time.Duration) error {
	if decoded != nil {
		return decoded
	}
	if code := int16(throttle.Milliseconds() & 0xffff); code != 0 {
		return kafkago.Error(code)
	}
	return nil
}

// owned returns what of offsets this member may commit: partitions it owns, where the offset is
// ahead of what is committed.
func (g *generation) owned(offsets map[TopicPartition]int64, skipped func(reason string)) map[TopicPartition]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[TopicPartition]int64, len(offsets))
	for tp, offset := range offsets {
		committed, ok := g.committed[tp]
		switch {
		case !ok:
			skipped("not_owned")
		case offset <= committed:
			skipped("behind")
		default:
			out[tp] = offset
		}
	}
	return out
}

func (g *generation) markCommitted(tp TopicPartition, offset int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.committed[tp] = max(g.committed[tp], offset)
}
