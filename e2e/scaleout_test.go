package e2e

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas"
)

// members are the processes of the scale-out test, by room.
var members = map[string]int{"ingest": 2, "projector": 3, "enrich": 2, "api": 3, "gateway": 2, "swap": 2}

// scaleSlot is the time of a slot. Two busy cores keep up with it, so that lag comes from what
// happens to members.
const scaleSlot = 250 * time.Millisecond

// TestScaleOut runs every room as several processes over one Kafka and one ClickHouse, and kills,
// freezes, stops and adds members while the chain goes on and clients ask. Then rows and root are
// those of one process that read the same blocks, and all API nodes answer alike.
// MINTLAKE_TEST_SCALEOUT=full makes 25 such events instead of one for each room.
func TestScaleOut(t *testing.T) {
	if !kafkatest.Apache(t) {
		t.Skip("members come and go over Apache Kafka: make test-kafka runs this in a bounded form, make test-scaleout whole; TestStandby runs over the embedded broker too")
	}
	node := startDemo(t, demo.Config{Seed: 13, TPS: 80, Tokens: 100, SlotTime: scaleSlot, StartSlot: 400_000_000, ForkRate: 0.05, SkipRate: 0.05})
	c := startCluster(t, node)
	for room, n := range members {
		for range n {
			c.rooms[room] = append(c.rooms[room], c.begin(room))
		}
	}
	for room := range members {
		for _, i := range c.members(room) {
			i.awaitUp()
		}
	}
	awaitLeader(t, c.members("ingest")...)
	t.Logf("partitions of the projectors: %d", awaitShares(t, c.members("projector"), schemas.GroupProjector, partitionsOf(projector.Topics()...)))
	t.Logf("partitions of enrich: %d", awaitShares(t, c.members("enrich"), schemas.GroupEnrich, partitionsOf(schemas.TopicEnrichmentRequests)))
	enough := goOnEvery(t, node, scaleSlot)
	// Nothing says where to resume before the first block is whole. Of a block that a kill cuts
	// short before that, the topics keep a part, and the next leader begins behind it.
	until(t, func() bool {
		return c.engine.number("(SELECT count() FROM mintlake.slots WHERE status = 'ingested')") > 10
	}, 100*time.Millisecond)
	clients := c.ask()

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	events := []string{"kill ingest", "kill projector", "freeze projector", "kill enrich", "kill api", "kill gateway", "kill swap", "add projector", "stop projector", "freeze ingest"}
	if os.Getenv("MINTLAKE_TEST_SCALEOUT") == "full" {
		for len(events) < 25 {
			events = append(events, events[random.IntN(10)])
		}
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	}
	calm := c.watchLag()
	time.Sleep(5 * time.Second)
	usual := calm()
	lag := c.watchLag()
	for _, event := range events {
		what, room, _ := strings.Cut(event, " ")
		c.happen(random, what, room)
	}
	awaitLeader(t, c.members("ingest")...)
	highest := lag()
	recovered := time.Now()
	for c.lag() > max(highest/4, usual, 500) {
		require.Less(t, time.Since(recovered), hang, "the lag does not go back while the chain goes on")
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("at most %d records before the projectors, %d before any event; gone to what is usual %s after the last one", highest, usual, time.Since(recovered).Round(100*time.Millisecond))

	last := enough()
	c.awaitSlot(last)
	clients.stop()
	c.alike(c.members("api"), last)
	stop := func(rooms ...string) {
		for _, room := range rooms {
			for _, i := range c.members(room) {
				require.Zero(t, i.stop(), i.log())
			}
		}
	}
	stop("ingest", "enrich") // what they still wrote is the projectors' to finish
	c.engine.awaitProjected(hang)
	stop("projector", "api", "gateway", "swap")
	got := c.engine.written(t, last)
	require.NotEmpty(t, got["tokens"])
	requireEqualDumps(t, alone(t, node, c.first(), last), got)
}

// happen lets one member go through an event, under load for a while.
func (c *cluster) happen(random *rand.Rand, what, room string) {
	c.t.Helper()
	all := c.members(room)
	n := random.IntN(len(all))
	if room == "ingest" && !all[n].leads() { // whoever leads is the one to hit
		n = len(all) - 1 - n
	}
	victim := all[n]
	start := time.Now()
	switch what {
	case "add":
		c.set(room, append(all, c.launch(room)))
	case "stop":
		require.Zero(c.t, victim.stop(), victim.log())
		c.set(room, slices.Delete(all, n, n+1))
	case "kill":
		victim.kill()
		all[n] = c.launch(room)
		c.set(room, all)
	case "freeze":
		victim.freeze()
		time.Sleep(12 * time.Second) // longer than its session: others take over what it had
		victim.thaw()
	}
	if room == "ingest" {
		awaitLeader(c.t, c.members(room)...)
	}
	c.t.Logf("%s %s: %s, %d records before the projectors", what, room, time.Since(start).Round(100*time.Millisecond), c.lag())
	time.Sleep(time.Second)
}

// lag is how many records lie before the projectors.
func (c *cluster) lag() int64 {
	c.t.Helper()
	return c.lagOf(schemas.GroupProjector, projector.Topics())
}

// lagOf is how many records of topics a group has not read.
func (c *cluster) lagOf(group string, topics []string) int64 {
	c.t.Helper()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: strings.Split(c.brokers, ",")}, kafka.Deps{})
	require.NoError(c.t, err)
	defer admin.Close()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	lag, err := admin.Lag(ctx, group, topics)
	require.NoError(c.t, err)
	return lag
}

// watchLag looks at the lag until the function returned is called, which tells the highest.
func (c *cluster) watchLag() (highest func() int64) {
	stop, done := make(chan struct{}), make(chan struct{})
	var most int64
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
				most = max(most, c.lag())
			}
		}
	}()
	end := sync.OnceFunc(func() { close(stop); <-done })
	c.t.Cleanup(end)
	return func() int64 { end(); return most }
}

// share is how many partitions of a group the process was given last; -1 before it joined.
func (i *instance) share(group string) int {
	text := i.log()
	at := strings.LastIndex(text, `msg="joined consumer group" group=`+group+" partitions=")
	if at < 0 {
		return -1
	}
	line, _, _ := strings.Cut(text[at:], "\n")
	n, err := strconv.Atoi(line[strings.LastIndexByte(line, '=')+1:])
	require.NoError(i.t, err, line)
	return n
}

// awaitShares waits until the members have so many partitions together, each of them some, and
// tells how many each has.
func awaitShares(t testing.TB, members []*instance, group string, partitions int) (shares []int) {
	t.Helper()
	require.Eventually(t, func() bool {
		shares = shares[:0]
		sum, least := 0, partitions
		for _, i := range members {
			n := i.share(group)
			shares, sum, least = append(shares, n), sum+n, min(least, n)
		}
		return sum == partitions && least > 0
	}, hang, 100*time.Millisecond, "%s: %v", group, &shares)
	return shares
}

// partitionsOf is how many partitions topics have together.
func partitionsOf(topics ...string) (n int) {
	for _, topic := range schemas.Topics() {
		if slices.Contains(topics, topic.Name) {
			n += topic.Partitions
		}
	}
	return n
}

// clients ask every surface without a pause longer than a moment.
type clients struct {
	t       testing.TB
	stopped chan struct{}
	asking  sync.WaitGroup
	answers map[string]*atomic.Int64
}

// ask lets a client of each room ask its members in turn, as a load balancer would: one of them
// must answer.
func (c *cluster) ask() *clients {
	key, _, err := ed25519.GenerateKey(nil)
	require.NoError(c.t, err)
	wallet := base58.Encode(key)
	k := &clients{t: c.t, stopped: make(chan struct{}), answers: map[string]*atomic.Int64{}}
	questions := map[string]func(i *instance) error{
		"api": func(i *instance) error { return answered(i.addresses["api"]+"/tokens?limit=20", "") },
		"gateway": func(i *instance) error {
			return answered(i.addresses["rpc"], `{"jsonrpc":"2.0","id":1,"method":"getSlot"}`)
		},
		"swap": func(i *instance) error {
			return answered(i.addresses["swap"]+"/api/v2/quote?src_mint="+mintSOL+"&dst_mint="+mintUSDC+"&amount_in=1000000&slippage_bps=100&user_account="+wallet, "")
		},
	}
	for room, question := range questions {
		count := &atomic.Int64{}
		k.answers[room] = count
		k.asking.Go(func() {
			for {
				select {
				case <-k.stopped:
					return
				case <-time.After(200 * time.Millisecond):
				}
				problems := c.askInTurn(room, int(count.Load()), question)
				// The member that is left may be busy, and asks to try again.
				for deadline := time.Now().Add(hang); slices.ContainsFunc(problems, isBusy) && time.Now().Before(deadline); {
					time.Sleep(time.Second)
					problems = c.askInTurn(room, int(count.Load()), question)
				}
				if assert.Empty(c.t, problems, "no member of %s answers", room) {
					count.Add(1)
				}
			}
		})
	}
	return k
}

// askInTurn asks a room's members until one answers. It returns why none did, nil if one did.
func (c *cluster) askInTurn(room string, first int, question func(i *instance) error) (problems []error) {
	nodes := c.members(room)
	for n := range nodes {
		err := question(nodes[(n+first)%len(nodes)])
		if err == nil {
			return nil
		}
		problems = append(problems, err)
	}
	return problems
}

func (k *clients) stop() {
	close(k.stopped)
	k.asking.Wait()
	for room, n := range k.answers {
		k.t.Logf("%s answered %d times", room, n.Load())
		require.Positive(k.t, n.Load(), room)
	}
}

// errBusy is an answer that asks to try again.
var errBusy = errors.New("busy")

func isBusy(err error) bool { return errors.Is(err, errBusy) }

// answered is one question; only 200 is an answer.
func answered(url, body string) error {
	client := http.Client{Timeout: hang}
	var response *http.Response
	var err error
	if body == "" {
		response, err = client.Get(url)
	} else {
		response, err = client.Post(url, "application/json", strings.NewReader(body))
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, response.StatusCode) {
		return fmt.Errorf("%s: %w: %.200s", url, errBusy, text)
	}
	if err == nil && (response.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"error":`))) {
		err = fmt.Errorf("%s: %d %.200s", url, response.StatusCode, text)
	}
	return err
}

// alike waits until all API nodes give the same answers: pages, rows of tokens, searches and the
// root.
func (c *cluster) alike(nodes []*instance, last uint64) {
	c.t.Helper()
	mints := c.engine.query("SELECT mint FROM mintlake.tokens ORDER BY cityHash64(mint) LIMIT 20 FORMAT TSV")
	paths := []string{"/tokens?limit=200", "/tokens?q=a&limit=50"}
	for _, mint := range mints {
		paths = append(paths, "/tokens/"+mint)
	}
	answers := func(i *instance) (all []string) {
		s := i.status()
		all = append(all, fmt.Sprint(s.Registry.Tokens, s.Root.Slot >= last-40))
		for _, path := range paths {
			code, body := i.get(path)
			var value any
			if json.Unmarshal(body, &value) == nil {
				body, _ = json.Marshal(value)
			}
			all = append(all, fmt.Sprintf("%s: %d %s", path, code, body))
		}
		return all
	}
	require.EventuallyWithT(c.t, func(collect *assert.CollectT) {
		want := answers(nodes[0])
		for _, i := range nodes[1:] {
			assert.Equal(collect, want, answers(i))
		}
	}, hang, 2*time.Second)
}
