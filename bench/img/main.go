// Command img measures GET /img/{mint}: cached hits beside nginx serving the same files,
// variants beside libvips, and the node's memory while a thousand clients ask for distinct images
// at once. bench/img/run.sh installs what it needs.
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

	"github.com/mintlake/mintlake/api/apitest"
	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/decoder"
	"github.com/mintlake/mintlake/internal/picture"
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

// draw makes a logo of size by size pixels: a gradient with noise, so that it compresses about as
// logos do.
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
	told := report.New("bench-img")
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
	if err := hits(dir, map[string]int{nginx: nginxPID, node.url: node.pid}, nginx, node.url, images, seconds, rounds, clients, told); err != nil {
		return err
	}
	if err := variants(dir, told); err != nil {
		return err
	}
	if err := node.memory(images, told); err != nil {
		return err
	}
	return told.Write()
}

// hits compares cached images.
func hits(dir string, pids map[string]int, nginx, node string, images, seconds, rounds, clients int, told *report.Report) error {
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
	best, cheapest := map[string]float64{}, map[string]float64{}
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
			cheapest[url] = max(cheapest[url], rate*float64(seconds)/(cpuOf(pids[url])-before))
		}
	}
	told.Add(report.Figure{Name: "cached hits", Value: best[node], Unit: "requests/s", Peer: "nginx", PeerValue: best[nginx], Goal: "ratio >= 0.50", Met: best[node] >= best[nginx]/2})
	told.Add(report.Figure{Name: "a second of a core serves", Value: cheapest[node], Unit: "requests", Peer: "nginx", PeerValue: cheapest[nginx]})
	return nil
}

// cpuOf is the seconds that a process and its children have computed, in ticks of 10 ms.
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

// variants compares one core: 512 pixels down to 128, as WebP and as PNG, with the effort that each
// has by default (libwebp: ours 1, libvips and imgproxy 4).
func variants(dir string, told *report.Report) error {
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
		told.Add(report.Figure{Name: "512 to 128 pixels, " + kind, Value: ms(ours), Unit: "ms", Peer: "libvips", PeerValue: ms(theirs), Note: "of a core, decoding included"})
	}
	return nil
}

// ourVariants is what one variant costs of a core, here and in the decoder together, its start and
// the compilation of its codec included.
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
	pool.Close() // waits for the decoder, and only then its time is known
	return (cpu() - began) / time.Duration(len(bodies)), nil
}

// cpu is the time that this process and its children that ended have spent computing: others may
// have the cores too.
func cpu() (spent time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		_ = syscall.Getrusage(who, &usage) // cannot fail for oneself
		spent += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return spent
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// node is the API node in a process of its own.
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

// memory asks for a variant of every image at once, each from its own client.
func (n *node) memory(images int, told *report.Report) error {
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
	told.Add(report.Figure{
		Name: fmt.Sprintf("%d distinct variants at once, resident at most", images), Value: float64(n.status("VmHWM")), Unit: "MiB", Peer: "before", PeerValue: float64(before),
		Note: fmt.Sprintf("%s in all", time.Since(began).Round(time.Millisecond)),
	})
	return nil
}

// status is a line of the process's status, in MiB.
func (n *node) status(name string) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.pid))
	found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		return 0
	}
	kib, _ := strconv.Atoi(string(found[1]))
	return kib >> 10
}

// startNginx serves the folder with as many workers as there are cores and no log.
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
