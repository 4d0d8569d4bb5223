package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
)

// client sends requests to a node, one after another. It runs in another process than the broker
// and the writer of updates: otherwise it would wait for their goroutines, and count that as the
// node's time.
type client struct {
	url    string
	tokens int
	seed   uint64
}

// figures are what a client measured, the node's processor time meanwhile, and the share of the
// machine that other virtual machines took.
type figures struct {
	// Took has the times by what was asked: a lookup, a search, a search of one kind, a batch.
	Took    map[string]times
	node    time.Duration
	machine machineTime
}

func (f *figures) add(what string, took ...time.Duration) {
	f.Took[what] = append(f.Took[what], took...)
}

type times []time.Duration

// of returns a quantile: q is 0.5 for the median.
func (t times) of(q float64) time.Duration {
	slices.Sort(t)
	return t[min(int(q*float64(len(t))), len(t)-1)].Round(time.Microsecond)
}

func (t times) quantiles() string { return fmt.Sprintf("p50 %v p99 %v", t.of(.5), t.of(.99)) }

// p99 returns the 99th percentile in milliseconds.
func (t times) p99() float64 { return t.of(.99).Seconds() * 1000 }

// startClient runs this program again as a client, and waits for its figures.
func startClient(ctx context.Context, o *options, n *node, size int, seed uint64, length time.Duration) (f figures, err error) {
	program, err := os.Executable()
	if err != nil {
		return f, fmt.Errorf("start a client: %w", err)
	}
	//nolint:gosec // this program
	command := exec.CommandContext(ctx, program, "--ask", n.url, "--tokens", strconv.Itoa(size), "--seed", strconv.FormatUint(seed, 10), "--phase", length.String(), "--lists", o.lists)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, os.Stderr
	if err := runRealTime(command); err != nil {
		return f, fmt.Errorf("ask the node: %w", err)
	}
	if err := json.Unmarshal(said.Bytes(), &f); err != nil {
		return f, fmt.Errorf("read what the client said: %w", err)
	}
	return f, nil
}

const (
	// batchMints is how many mints a batch asks for. The client sends one each batchEvery.
	batchMints = 500
	batchEvery = 20 * time.Millisecond
)

var batchOf = fmt.Sprintf("batch of %d", batchMints)

// run sends requests until the phase is over. It prints the figures as JSON, which startClient
// reads.
func (c *client) run(o *options) error {
	lists, err := registrytest.ReadLists(o.lists)
	if err != nil {
		return err
	}
	corpus := registrytest.NewCorpus(1, lists)
	random := rand.New(rand.NewPCG(1, c.seed)) //nolint:gosec // a measurement's
	f := figures{Took: map[string]times{}}
	begin := time.Now()
	for batch := begin; time.Since(begin) < o.phase; {
		if time.Since(batch) >= batchEvery {
			batch = time.Now()
			took, err := ask(c.url+"/tokens/batch", c.batch(corpus, random))
			if err != nil {
				return err
			}
			f.add(batchOf, took)
		}
		token := corpus.Token(random.IntN(c.tokens))
		took, err := ask(c.url+"/tokens/"+token.Mint.String(), nil)
		if err != nil {
			return err
		}
		f.add("lookup", took)
		query, kind := token.Symbol, "search for a symbol"
		switch random.IntN(4) {
		case 0:
			query, kind = "", "search for nothing"
		case 1:
			query, kind = token.Name[:len(token.Name)/2], "search for half a name"
		}
		if took, err = ask(c.url+"/tokens?limit=20&q="+url.QueryEscape(query), nil); err != nil {
			return err
		}
		f.add("search", took)
		f.add(kind, took)
	}
	text, err := json.Marshal(f)
	fmt.Println(string(text))
	return err
}

// batch returns the body of a request for batchMints mints.
func (c *client) batch(corpus *registrytest.Corpus, random *rand.Rand) []byte {
	var body struct {
		Mints []string `json:"mints"`
	}
	for range batchMints {
		body.Mints = append(body.Mints, corpus.Token(random.IntN(c.tokens)).Mint.String())
	}
	text, _ := json.Marshal(body) // strings
	return text
}

// ask sends a request, a POST if it has a body, and returns how long the answer took. It uses
// fasthttp and no compression: a client that needs much processor time would slow the node down.
func ask(address string, body []byte) (time.Duration, error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(address)
	if body != nil {
		request.Header.SetMethod(fasthttp.MethodPost)
		request.Header.SetContentType("application/json")
		request.SetBodyRaw(body)
	}
	begin := time.Now()
	if err := fasthttp.DoTimeout(request, response, patience); err != nil {
		return 0, fmt.Errorf("ask %s: %w", address, err)
	}
	took := time.Since(begin)
	if status := response.StatusCode(); status >= fasthttp.StatusInternalServerError || status == fasthttp.StatusTooManyRequests {
		return 0, fmt.Errorf("ask %s: status %d", address, status)
	}
	return took, nil
}

// patience is how long an answer may take.
const patience = 10 * time.Second
