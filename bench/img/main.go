// Command img measures GET /img/{mint}: cached images compared with nginx, which serves the same
// files; the making of variants compared with libvips; and the node's memory while a thousand
// clients ask for different images at the same time. bench/img/run.sh installs what it needs.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/logos/picture"
)

func main() {
	decoder.MaybeRunChild()
	serve := flag.String("serve", "", "serve the images of this folder and print the address (used by the benchmark itself)")
	images := flag.Int("images", 1000, "distinct images")
	seconds := flag.Int("seconds", 6, "length of one measurement")
	rounds := flag.Int("rounds", 3, "measurements of each, of which the best counts")
	clients := flag.Int("clients", 64, "connections")
	flag.Parse()
	var err error
	if *serve != "" {
		err = serveImages(*serve, *images)
	} else {
		err = measure(*images, *seconds, *rounds, *clients)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-img:", err)
		os.Exit(1)
	}
}

// draw makes a PNG of size by size pixels that compresses about as logos do: 16 by 16 squares of
// random colours, each with a pattern in red.
func draw(seed uint64, size int) []byte {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a picture
	out := image.NewRGBA(image.Rect(0, 0, size, size))
	cells := size / 16
	colours := make([]color.RGBA, 16*16)
	for i := range colours {
		colours[i] = color.RGBA{byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), 255}
	}
	for y := range size {
		for x := range size {
			c := colours[min(y/cells, 15)*16+min(x/cells, 15)]
			c.R += byte((x + y) % 13)
			out.SetRGBA(x, y, c)
		}
	}
	var body bytes.Buffer
	_ = png.Encode(&body, out) // a buffer does not fail
	return body.Bytes()
}

func mintOf(i int) string { return apitest.Address(apitest.Mint(i + 1)) }

func measure(images, seconds, rounds, clients int) error {
	results := report.New("bench-img")
	dir, err := os.MkdirTemp("", "mintlake-bench-img-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // nginx's worker reads it as another user
		return err
	}
	folder := filepath.Join(dir, "img")
	if err := os.Mkdir(folder, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	total := 0
	for i := range images {
		body := draw(uint64(i), 96+32*(i%5))
		total += len(body)
		if err := os.WriteFile(filepath.Join(folder, mintOf(i)), body, 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	fmt.Printf("%d images of %d bytes on average; %d connections, best of %d rounds of %d s\n", images, total/images, clients, rounds, seconds)
	node, stop, err := start(folder, images)
	if err != nil {
		return err
	}
	defer stop()
	nginx, nginxPID, stopNginx, err := startNginx(dir)
	if err != nil {
		return err
	}
	defer stopNginx()
	if err := hits(dir, map[string]int{nginx: nginxPID, node.url: node.pid}, nginx, node.url, images, seconds, rounds, clients, results); err != nil {
		return err
	}
	if err := variants(dir, results); err != nil {
		return err
	}
	if err := node.memory(images, results); err != nil {
		return err
	}
	return results.Write()
}

// hits compares the rate of cached images with nginx, measured by wrk. pids has the process of each
// URL.
func hits(dir string, pids map[string]int, nginx, node string, images, seconds, rounds, clients int, results *report.Report) error {
	script := filepath.Join(dir, "paths.lua")
	var lua strings.Builder
	lua.WriteString("local paths = {")
	for i := range images {
		fmt.Fprintf(&lua, "%q,", "/img/"+mintOf(i))
	}
	lua.WriteString("}\nlocal n = 0\nrequest = function() n = n % #paths + 1; return wrk.format(\"GET\", paths[n]) end\n")
	if err := os.WriteFile(script, []byte(lua.String()), 0o600); err != nil {
		return err
	}
	// best is the highest rate of requests, perCore the most requests for a second of processor
	// time.
	best, perCore := map[string]float64{}, map[string]float64{}
	for range rounds {
		for _, url := range []string{nginx, node} {
			before := cpuOf(pids[url])
			out, err := exec.Command("wrk", "-t1", "-c", strconv.Itoa(clients), "-d", fmt.Sprint(seconds, "s"), "-s", script, url).CombinedOutput() //nolint:gosec // ours
			if err != nil {
				return fmt.Errorf("wrk: %w: %s", err, out)
			}
			if strings.Contains(string(out), "Non-2xx") {
				return fmt.Errorf("answers that are no success: %s", out)
			}
			found := regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`).FindSubmatch(out)
			if found == nil {
				return fmt.Errorf("wrk says nothing: %s", out)
			}
			rate, err := strconv.ParseFloat(string(found[1]), 64)
			if err != nil {
				return err
			}
			best[url] = max(best[url], rate)
			perCore[url] = max(perCore[url], rate*float64(seconds)/(cpuOf(pids[url])-before))
		}
	}
	results.Add(report.Figure{Name: "cached hits", Value: best[node], Unit: "requests/s", Peer: "nginx", PeerValue: best[nginx], Goal: "ratio >= 0.50", Met: best[node] >= best[nginx]/2})
	results.Add(report.Figure{Name: "a second of a core serves", Value: perCore[node], Unit: "requests", Peer: "nginx", PeerValue: perCore[nginx]})
	return nil
}

// cpuOf returns the processor time of a process and its children, in seconds. The kernel counts it
// in ticks of 10 ms.
func cpuOf(pid int) (seconds float64) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, id := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
		stat, _ := os.ReadFile("/proc/" + id + "/stat") //nolint:gosec // the kernel's own names
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 12 {
			for _, field := range fields[11:13] {
				ticks, _ := strconv.Atoi(field)
				seconds += float64(ticks) / 100
			}
		}
	}
	return seconds
}

// variants compares the processor time of scaling a picture from 512 to 128 pixels, as WebP and as
// PNG, with libvips. Both use their default effort of libwebp: 1 here, 4 in libvips and imgproxy.
func variants(dir string, results *report.Report) error {
	const count = 100
	large := filepath.Join(dir, "large")
	if err := os.Mkdir(large, 0o750); err != nil {
		return err
	}
	bodies := make([][]byte, count)
	args := []string{"--size", "128", "-o", ""}
	for i := range bodies {
		bodies[i] = draw(uint64(i), 512)
		name := filepath.Join(large, fmt.Sprint(i, ".png"))
		if err := os.WriteFile(name, bodies[i], 0o600); err != nil {
			return err
		}
		args = append(args, name)
	}
	for kind, suffix := range map[string]string{picture.WebP: ".webp[Q=80]", picture.PNG: ".png"} {
		ours, err := ourVariants(bodies, kind)
		if err != nil {
			return err
		}
		args[3] = filepath.Join(dir, "t_%s"+suffix)
		cmd := exec.Command("vipsthumbnail", args...)
		cmd.Env = append(os.Environ(), "VIPS_CONCURRENCY=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("vipsthumbnail: %w: %s", err, out)
		}
		theirs := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()) / count
		results.Add(report.Figure{Name: "512 to 128 pixels, " + kind, Value: ms(ours), Unit: "ms", Peer: "libvips", PeerValue: ms(theirs), Note: "of a core, decoding included"})
	}
	return nil
}

// ourVariants returns the processor time of one variant, in this process and in the decoder's. It
// includes a share of the decoder's start and of the compilation of its codec.
func ourVariants(bodies [][]byte, kind string) (time.Duration, error) {
	began := cpu()
	pool, err := decoder.New(decoder.Config{Processes: 1}, decoder.Deps{})
	if err != nil {
		return 0, err
	}
	for i := range bodies {
		if _, _, err := pool.Make(context.Background(), bodies[i], picture.PNG, picture.Variant{Size: 128, Type: kind}); err != nil {
			pool.Close()
			return 0, err
		}
	}
	pool.Close() // waits for the decoder's end: until then the kernel does not count its time
	return (cpu() - began) / time.Duration(len(bodies)), nil
}

// cpu returns the processor time of this process and of its children that have ended.
func cpu() (spent time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		_ = syscall.Getrusage(who, &usage) // cannot fail for oneself
		spent += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return spent
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// node is an API node that runs in another process.
type node struct {
	url string
	pid int
}

func start(folder string, images int) (*node, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self, "-serve", folder, "-images", strconv.Itoa(images)) //nolint:gosec // ourselves
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("the node did not start: %w", err)
	}
	return &node{strings.TrimSpace(line), cmd.Process.Pid}, stop, nil
}

// memory reports the node's highest resident memory after as many clients as there are images have
// asked, all at once, for a variant of one image each.
func (n *node) memory(images int, results *report.Report) error {
	before := n.status("VmRSS")
	var group sync.WaitGroup
	failed := make(chan error, images)
	began := time.Now()
	for i := range images {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/img/"+mintOf(i)+"?size=64&format=webp", nil)
			if err != nil {
				failed <- err
				return
			}
			response, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
			if err != nil {
				failed <- err
				return
			}
			defer func() { _ = response.Body.Close() }()
			if _, err := io.Copy(io.Discard, response.Body); err != nil || response.Header.Get("Content-Type") != picture.WebP {
				failed <- errors.Join(err, fmt.Errorf("got %s %s", response.Status, response.Header.Get("Content-Type")))
			}
		})
	}
	group.Wait()
	close(failed)
	for err := range failed {
		return err
	}
	results.Add(report.Figure{
		Name: fmt.Sprintf("%d distinct variants at once, resident at most", images), Value: float64(n.status("VmHWM")), Unit: "MiB", Peer: "before", PeerValue: float64(before),
		Note: fmt.Sprintf("%s in all", time.Since(began).Round(time.Millisecond)),
	})
	return nil
}

// status returns a value of /proc/PID/status, in MiB.
func (n *node) status(name string) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.pid))
	found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0
	}
	kib, _ := strconv.Atoi(string(found[1]))
	return kib >> 10
}

// startNginx starts nginx, which serves dir without a log and with a worker for each core. It
// returns nginx's URL and process id.
func startNginx(dir string) (string, int, func(), error) {
	const port = 18999
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`worker_processes auto; pid %[1]s/nginx.pid; error_log %[1]s/error.log; daemon off;
events { worker_connections 4096; }
http { access_log off; sendfile on; tcp_nopush on; default_type image/png; keepalive_requests 1000000;
  client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server { listen 127.0.0.1:%[2]d; root %[1]s; add_header Cache-Control "public, max-age=3600"; add_header X-Content-Type-Options nosniff; } }
`, dir, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return "", 0, nil, err
	}
	cmd := exec.Command("nginx", "-c", conf) //nolint:gosec // ours
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", 0, nil, fmt.Errorf("nginx: %w", err)
	}
	stop := func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	for range 100 {
		response, err := http.Get(url + "/img/" + mintOf(0))
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return url, cmd.Process.Pid, stop, nil
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", 0, nil, errors.New("nginx serves nothing")
}
