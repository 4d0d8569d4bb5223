package main

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/bench/report"
)

const (
	// leastShare is the goal: quotes a second, as a fraction of the answers of a handler that
	// always answers the same text.
	leastShare  = 0.3
	connections = 16
	loadTime    = 4 * time.Second
	loadTurns   = 3
)

// overHTTP measures quotes over HTTP against a handler of the same framework that answers each
// request with the same text, by the same client on the same cores.
func overHTTP(r *report.Report) error {
	f, err := startAPI(followedPools)
	if err != nil {
		return err
	}
	defer f.stop()
	urls := f.questions()
	body, err := answered(urls)
	if err != nil {
		return err
	}
	constant, err := serveConstant(body)
	if err != nil {
		return err
	}
	defer func() { _ = constant.app.Shutdown() }()
	var ours, peers []float64
	for range loadTurns {
		ours = append(ours, load(urls))
		peers = append(peers, load([]string{constant.url}))
	}
	q, p := median(ours), median(peers)
	r.Add(report.Figure{
		Name: "quotes over HTTP", Value: q, Unit: "a second", Peer: "constant handler", PeerValue: p, Goal: fmt.Sprintf("ratio >= %.1f", leastShare), Met: q >= leastShare*p,
		Note: fmt.Sprintf("%d bytes, %d connections, %d pools, %d updates a second; client and server share the cores", len(body), connections, followedPools, updatesPerSecond),
	})
	return nil
}

// answered waits until quotes are answered from the held state, and returns one answer.
func answered(urls []string) (body []byte, err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var status int
		if status, body, err = fasthttp.Get(nil, urls[0]); err == nil && status == fasthttp.StatusOK {
			return body, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("no quote: %s", body), err)
}

type constantServer struct {
	app *fiber.App
	url string
}

func serveConstant(body []byte) (*constantServer, error) {
	app := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true, ReadBufferSize: 8 << 10})
	app.Get("/", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Send(body)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { _ = app.Listener(listener) }()
	return &constantServer{app, "http://" + listener.Addr().String() + "/"}, nil
}

// load asks for URLs in turns, and returns the successful answers a second.
func load(urls []string) float64 {
	var count, at atomic.Int64
	client := &fasthttp.Client{MaxConnsPerHost: connections}
	began := time.Now()
	var workers sync.WaitGroup
	for range connections {
		workers.Go(func() {
			var body []byte
			for time.Since(began) < loadTime {
				status, answer, err := client.Get(body[:0], urls[int(at.Add(1))%len(urls)])
				body = answer
				if err == nil && status == fasthttp.StatusOK {
					count.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return float64(count.Load()) / time.Since(began).Seconds()
}
