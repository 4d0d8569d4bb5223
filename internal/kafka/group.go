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

// membership speaks the group protocol for one member. Only one goroutine may call its methods. The
// generations that it returns may be used by several.
type membership struct {
	client     *client
	joinClient *kafkago.Client // with a longer timeout: a join waits for the whole rebalance
	group      string
	instance   string
	topics     []string
	session    time.Duration
	rebalance  time.Duration
	strategy   strategy
	// answered, if set, is called after each heartbeat that succeeded, with the time when it was
	// sent.
	answered func(sent time.Time)

	memberID string
	userData []byte // sent with each join, to the member that assigns the partitions
}

// strategy is how partitions are assigned. The coordinator chooses one member, and that member
// assigns the partitions to all members. counts is the number of partitions of each topic; the
// result is member ID → topic → partitions.
type strategy struct {
	name   string
	assign func(members []kafkago.JoinGroupResponseMember, counts map[string]int) map[string]map[string][]int
}

// rangeStrategy is Kafka's range assignor. Topics with the same number of partitions are assigned
// alike, so one member gets all records of a key, whatever their topic.
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
	id       int64 // unique in this process, unlike the broker's number
	brokerID int   // the broker's number, which may begin again
	memberID string
	start    map[TopicPartition]int64 // where to begin; offsetUnknown if nothing is committed

	mu        sync.Mutex
	committed map[TopicPartition]int64
}

// join makes this member part of the group and returns its assignment.
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

// joinGroup joins the group. The coordinator may answer the first attempt with a member ID only;
// the second attempt joins with it. The coordinator answers a join when the other members have
// joined too.
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

// lost returns err. It forgets the member ID if the coordinator does not know it.
func (m *membership) lost(err error) error {
	if isCode(err, kafkago.UnknownMemberId) {
		m.memberID = ""
	}
	return err
}

// assign makes the assignment for all members if the coordinator has chosen this member to do so.
// Otherwise it returns nil.
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

// assignRange is Kafka's range assignor: for each topic, the members in order of their IDs get
// consecutive partitions. If the number does not divide evenly, the first members get one more.
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

// stay sends heartbeats. It returns nil when ctx ends or a rebalance begins. It returns an error if
// the member has lost its place, if the error is permanent, or if no heartbeat succeeded for the
// session timeout. It calls failed with every other error and goes on. A receive from kick causes a
// heartbeat at once.
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
			return nil
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

// leave takes this member out of the group, so that the others need not wait for its session to
// time out. A static member stays.
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

// swappedError returns the true error of a Heartbeat or LeaveGroup response. kafka-go 0.4.51 reads
// their first two fields in the wrong order: the protocol has throttle_time_ms (int32) before
// error_code (int16). So every error looks like success, with a throttle time of as many
// milliseconds as its code. If a later version reads them right, decoded is set and is returned.
// But then the throttle time of a success is taken for an error code, most often a permanent one,
// which ends the member: remove this function when kafka-go is corrected.
func swappedError(decoded error, throttle time.Duration) error {
	if decoded != nil {
		return decoded
	}
	if code := int16(throttle.Milliseconds() & 0xffff); code != 0 {
		return kafkago.Error(code)
	}
	return nil
}

// owned returns the offsets that this member may commit: those of its own partitions that are
// higher than the committed ones. It calls skipped with the reason for each other offset.
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
