package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/bench/report"
)

const (
	// readClients is how many connections ask at the same time.
	readClients = 32
	// readTime is how long a server is asked in a round.
	readTime = 3 * time.Second
	// longAnswer is the size of a long answer in bytes, longAtOnce how many are read at the same
	// time.
	longAnswer = 100 << 20
	longAtOnce = 4
)

// reads compares the gateway's JSON-RPC proxy with nginx in front of the same upstream: the rate of
// small reads, their delay at half of the gateway's rate, and long answers.
func reads(ctx context.Context, o options, broker *broker, results *report.Report) error {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	node := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute}
	go func() { _ = node.Serve(upstream) }()
	defer node.Close() //nolint:errcheck // the run is over
	key, hash := keys.GenerateFor(keys.RPC, "live")
	s, err := startServer(ctx, broker, o.server, 100, "--rpc-upstream", "http://"+upstream.Addr().String(), "--rpc-keys", "bench:"+hex.EncodeToString(hash[:]),
		"--rpc-cache-bytes", "0", "--rpc-share-reads=false", "--rpc-hedge-share", "0")
	if err != nil {
		return err
	}
	defer s.stop()
	peer, stop, err := startNginx(ctx, o.nginx, upstream.Addr().String())
	if err != nil {
		return err
	}
	defer stop()
	ours := &reader{url: "http://" + s.rpc + "/", key: key, client: newReader()}
	theirs := &reader{url: "http://" + peer + "/", key: key, client: newReader()}

	both := []*reader{ours, theirs}
	for _, r := range both { // the first round warms up
		if _, err := r.rate(0); err != nil {
			return err
		}
	}
	rates := map[*reader][]float64{}
	for range o.rounds { // in turns
		for _, r := range both {
			rate, err := r.rate(0)
			if err != nil {
				return err
			}
			rates[r] = append(rates[r], rate)
		}
	}
	top, theirTop := middle(rates[ours]), middle(rates[theirs])
	results.Add(report.Figure{
		Name: fmt.Sprintf("small reads, %d connections", readClients), Value: top, Unit: "a second", Peer: "nginx", PeerValue: theirTop, Goal: "ratio >= 0.6", Met: top >= 0.6*theirTop,
		Note: fmt.Sprintf("all: %.0f; nginx: %.0f", rates[ours], rates[theirs]),
	})
	late := map[*reader]float64{}
	for _, r := range both {
		r.delays = nil
	}
	for range o.rounds {
		for _, r := range both {
			if _, err := r.rate(top / 2); err != nil {
				return err
			}
		}
	}
	for _, r := range both {
		slices.Sort(r.delays)
		late[r] = ms(r.delays[len(r.delays)*99/100])
	}
	results.Add(report.Figure{
		Name: "small reads at half that rate, p99", Value: late[ours], Unit: "ms", Peer: "nginx", PeerValue: late[theirs], Goal: "ratio <= 3", Met: late[ours] <= 3*late[theirs],
	})
	return long(o, s, ours, theirs, results)
}

// answer is the upstream's handler. A batch is a poll by which the gateway checks the upstream.
// getProgramAccounts gets a long answer, any other call a small one.
func answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	type call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if bytes.HasPrefix(body, []byte("[")) { // a poll
		var calls []call
		_ = json.Unmarshal(body, &calls)
		out := make([]map[string]any, len(calls))
		for i, c := range calls {
			out[i] = map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": 400_000_000}
			if c.Method == "getHealth" {
				out[i]["result"] = "ok"
			}
		}
		_ = json.NewEncoder(w).Encode(out)
		return
	}
	var one call
	_ = json.Unmarshal(body, &one)
	if one.Method != "getProgramAccounts" {
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","result":{"context":{"slot":400000000,"apiVersion":"2.2.0"},"value":{"lamports":2039280,"owner":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","executable":false,"rentEpoch":0,"data":["%0340d","base64"]}},"id":%s}`, 0, one.ID)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","result":["`)
	piece := bytes.Repeat([]byte("A"), 64<<10)
	for range longAnswer / len(piece) {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
	_, _ = fmt.Fprintf(w, `"],"id":%s}`, one.ID)
}

// reader sends calls to one server. number counts them, delays is what rate noted.
type reader struct {
	url, key string
	client   *http.Client
	number   atomic.Int64
	mu       sync.Mutex
	delays   []time.Duration
}

func newReader() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: readClients, DisableCompression: true}, Timeout: 10 * time.Minute}
}

// ask makes a call and returns the size of the answer.
func (r *reader) ask(method string) (int64, error) {
	id := r.number.Add(1) // no two calls are equal, so that none is answered from a cache
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":["%032d"]}`, id, method, id)
	request, err := http.NewRequest(http.MethodPost, r.url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-API-KEY", r.key)
	response, err := r.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	n, err := io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d", r.url, response.StatusCode)
	}
	return n, err
}

// rate calls for readTime and returns the answers a second. If pace is 0, each connection calls as
// soon as it has an answer. Else pace is the number of calls a second, and r.delays gets the time
// of each from the moment when it was due.
func (r *reader) rate(pace float64) (float64, error) {
	begin := time.Now()
	var next, answers atomic.Int64
	failed := make(chan error, readClients)
	var asking sync.WaitGroup
	for range readClients {
		asking.Go(func() {
			var delays []time.Duration
			for time.Since(begin) < readTime {
				due := time.Now()
				if pace > 0 {
					due = begin.Add(time.Duration(float64(next.Add(1)) / pace * float64(time.Second)))
					time.Sleep(time.Until(due))
				}
				if _, err := r.ask("getAccountInfo"); err != nil {
					failed <- err
					return
				}
				delays = append(delays, time.Since(due))
				answers.Add(1)
			}
			if pace > 0 {
				r.mu.Lock()
				r.delays = append(r.delays, delays...)
				r.mu.Unlock()
			}
		})
	}
	asking.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return float64(answers.Load()) / time.Since(begin).Seconds(), nil
	}
}

// long reports the speed of long answers, and how much memory the gateway needs for each.
func long(o options, s *server, ours, theirs *reader, results *report.Report) error {
	speeds := map[*reader][]float64{}
	for range o.rounds {
		for _, r := range []*reader{ours, theirs} {
			begin := time.Now()
			n, err := r.ask("getProgramAccounts")
			if err != nil {
				return err
			}
			speeds[r] = append(speeds[r], float64(n)/(1<<20)/time.Since(begin).Seconds())
		}
	}
	mine, peer := middle(speeds[ours]), middle(speeds[theirs])
	results.Add(report.Figure{Name: "one answer of 100 MB", Value: mine, Unit: "MB a second", Peer: "nginx", PeerValue: peer, Goal: "ratio >= 0.7", Met: mine >= 0.7*peer})
	before, err := s.resident()
	if err != nil {
		return err
	}
	var asking sync.WaitGroup
	for range longAtOnce {
		// Errors are ignored here: a call that fails for a reason would have failed above too.
		asking.Go(func() { _, _ = ours.ask("getProgramAccounts") })
	}
	over := make(chan struct{})
	go func() { asking.Wait(); close(over) }()
	most := before
	for done := false; !done; {
		select {
		case <-over:
			done = true
		case <-time.After(10 * time.Millisecond):
		}
		now, err := s.resident()
		if err != nil {
			return err
		}
		most = max(most, now)
	}
	each := float64(most-before) / longAtOnce / (1 << 20)
	results.Add(report.Figure{Name: fmt.Sprintf("memory of an answer of 100 MB, %d at one time", longAtOnce), Value: each, Unit: "MB each", Goal: "< 2 MB", Met: each < 2,
		Note: "growth of the resident memory, garbage that is not collected yet included"})
	return nil
}

// middle returns the median.
func middle(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

// startNginx runs nginx with as many workers as cores in front of the upstream.
func startNginx(ctx context.Context, binary, upstream string) (addr string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "bench-gateway-")
	if err != nil {
		return "", nil, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = free.Addr().String()
	_ = free.Close()
	config := filepath.Join(dir, "nginx.conf")
	text := `worker_processes auto; daemon off; pid ` + dir + `/pid; error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000; client_body_temp_path ` + dir + `; proxy_temp_path ` + dir + `; fastcgi_temp_path ` + dir + `; uwsgi_temp_path ` + dir + `; scgi_temp_path ` + dir + `;
  upstream node { server ` + upstream + `; keepalive ` + strconv.Itoa(2*readClients) + `; keepalive_requests 1000000000; }
  server { listen ` + addr + `; location / { proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_max_temp_file_size 0; } }
}
`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	process := exec.CommandContext(ctx, binary, "-c", config, "-p", dir)
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		return "", nil, fmt.Errorf("nginx: %w", err)
	}
	stop = func() {
		_ = process.Process.Signal(os.Interrupt)
		_ = process.Wait()
		_ = os.RemoveAll(dir)
	}
	for range 100 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return addr, stop, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("nginx does not listen on %s", addr)
}
