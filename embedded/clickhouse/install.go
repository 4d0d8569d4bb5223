package chengine

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// libraryName is the name of the installed file, and of the library in every archive.
const libraryName = "libchdb.so"

const (
	// otherPatience is how long an installation waits for another one on this machine.
	otherPatience = 15 * time.Minute
	// otherPoll is how often it checks whether the other one is done.
	otherPoll = 200 * time.Millisecond
	// archiveOverhead bounds the bytes that an archive may have besides the library.
	archiveOverhead = 64 << 20
	// entriesBound is how many entries of an archive are looked at: the library must be among them.
	entriesBound = 1000
	// downloadPatience bounds a whole download.
	downloadPatience = time.Hour
)

// ErrWrongLibrary says that the fetched file is not the pinned libchdb. Nothing was installed.
var ErrWrongLibrary = errors.New("this is not the pinned libchdb, nothing was installed")

// Installer installs libchdb into Mintlake's cache. tools/deps/libchdb.sh does the same for a
// checkout; both use the same folder and lock.
type Installer struct {
	// Pin is what is installed.
	Pin Pin
	// From is a file or an http(s) URL: libchdb.so itself, or a .tar.gz or .tgz with it. If it is
	// empty, npm fetches the package.
	From string
	// Log gets a line about each step.
	Log io.Writer
}

// CachePath returns the path at which the library of pin is installed.
func CachePath(pin Pin) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the cache, set MINTLAKE_CACHE_DIR: %w", err)
	}
	return filepath.Join(cache, "libchdb", pin.Version, libraryName), nil
}

// Install returns the path of the library, and installs it first if it is missing. The file gets
// its name by a rename after its hash was checked, so a killed installation leaves no half library.
func (i *Installer) Install(ctx context.Context) (string, error) {
	library, err := CachePath(i.Pin)
	if err != nil {
		return "", err
	}
	if i.complete(library) {
		return library, nil
	}
	folder := filepath.Dir(library)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // every user may read the library
		return "", fmt.Errorf("make the cache folder, or set MINTLAKE_CACHE_DIR to one that you may write to: %w", err)
	}
	unlock, err := i.lock(ctx, filepath.Join(folder, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if i.complete(library) {
		return library, nil
	}
	fresh, err := i.emptyFolder(folder)
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	file := filepath.Join(fresh, libraryName)
	if err := i.fetch(ctx, fresh, file); err != nil {
		return "", err
	}
	if err := os.Rename(file, library); err != nil {
		return "", fmt.Errorf("install libchdb: %w", err)
	}
	return library, nil
}

// Verify compares the hash of the installed library with the pin, and returns its path.
func (i *Installer) Verify() (string, error) {
	library, err := CachePath(i.Pin)
	if err != nil {
		return "", err
	}
	file, err := os.Open(library)
	if err != nil {
		return "", fmt.Errorf("libchdb is not installed, run `mintlake deps`: %w", err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read libchdb: %w", err)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != i.Pin.LibrarySHA256 {
		return "", fmt.Errorf("%s has SHA-256 %s, the pinned one is %s: delete it and run `mintlake deps`", library, sum, i.Pin.LibrarySHA256)
	}
	return library, nil
}

// complete reports whether the library is installed. Its hash was checked before it got its name,
// so comparing the size is enough.
func (i *Installer) complete(library string) bool {
	info, err := os.Stat(library)
	return err == nil && info.Mode().IsRegular() && info.Size() == i.Pin.LibraryBytes
}

// lock waits until no other installation runs, and keeps others out until unlock is called.
func (i *Installer) lock(ctx context.Context, name string) (unlock func(), err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a path of our own; it holds nothing
	if err != nil {
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, otherPatience)
	defer cancel()
	said := false
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // this unlocks
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		if !said {
			i.say("another installation is running, waiting for it")
			said = true
		}
		select {
		case <-within.Done():
			_ = file.Close()
			return nil, fmt.Errorf("another installation holds %s: end it and try again: %w", name, within.Err())
		case <-time.After(otherPoll):
		}
	}
}

// emptyFolder creates a folder for this installation, if the disk has room for it. It first removes
// the folders of earlier installations that were killed: the caller holds the lock, so no other
// installation uses them.
func (i *Installer) emptyFolder(folder string) (string, error) {
	old, err := filepath.Glob(filepath.Join(folder, "new.*"))
	if err != nil {
		return "", fmt.Errorf("look for what a killed installation left: %w", err)
	}
	for _, name := range old {
		if err := os.RemoveAll(name); err != nil {
			return "", fmt.Errorf("remove what a killed installation left: %w", err)
		}
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return "", fmt.Errorf("ask for the free space of %s: %w", folder, err)
	}
	// For a moment the archive and the library are on the disk together.
	need := i.Pin.LibraryBytes + i.Pin.LibraryBytes/2
	if free := int64(disk.Bavail) * disk.Bsize; free < need {
		return "", fmt.Errorf("%s has %d MB free, %d MB are needed: set MINTLAKE_CACHE_DIR to a larger disk", folder, free>>20, need>>20)
	}
	fresh, err := os.MkdirTemp(folder, "new.")
	if err != nil {
		return "", fmt.Errorf("make a folder in the cache: %w", err)
	}
	return fresh, nil
}

// fetch writes the library to file and checks it. folder is for temporary files.
func (i *Installer) fetch(ctx context.Context, folder, file string) error {
	if i.From == "" {
		return i.fromNPM(ctx, folder, file)
	}
	if u, err := url.Parse(i.From); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return i.fromURL(ctx, u, file)
	}
	in, err := os.Open(i.From)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { _ = in.Close() }()
	return i.unpack(in, i.From, file)
}

// fromNPM lets npm fetch the package, because npm is configured with the user's mirrors, proxies
// and logins.
func (i *Installer) fromNPM(ctx context.Context, folder, file string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm is not installed. Install it (Debian: apt-get install npm) and run this again; or run "+
			"`npm pack %s@%s` where npm is, bring the .tgz here, and run `mintlake deps --from FILE`; "+
			"or use a ClickHouse server: --clickhouse-dsn", i.Pin.Package, i.Pin.Version)
	}
	i.say("npm fetches %s@%s (%d MB unpacked)", i.Pin.Package, i.Pin.Version, i.Pin.LibraryBytes>>20)
	var stderr bytes.Buffer
	pack := exec.CommandContext(ctx, npm, "pack", "--loglevel=error", "--ignore-scripts", i.Pin.Package+"@"+i.Pin.Version) //nolint:gosec // npm and the pin
	pack.Dir, pack.Stderr = folder, &stderr
	if err := pack.Run(); err != nil {
		return fmt.Errorf("npm pack %s@%s: %w: %s", i.Pin.Package, i.Pin.Version, err, firstLine(stderr.Bytes()))
	}
	tarballs, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(tarballs) != 1 {
		return fmt.Errorf("npm pack left %d tarballs: run `npm pack %s@%s` by hand to see why", len(tarballs), i.Pin.Package, i.Pin.Version)
	}
	in, err := os.Open(tarballs[0])
	if err != nil {
		return fmt.Errorf("open what npm fetched: %w", err)
	}
	defer func() { _ = in.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return fmt.Errorf("read what npm fetched: %w", err)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != i.Pin.TarballSHA256 {
		return fmt.Errorf("%w: npm's tarball has SHA-256 %s, the pin says %s", ErrWrongLibrary, sum, i.Pin.TarballSHA256)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read what npm fetched: %w", err)
	}
	return i.unpack(in, tarballs[0], file)
}

// fromURL downloads the library, or an archive with it. User and password in the URL are sent, but
// never logged.
func (i *Installer) fromURL(ctx context.Context, u *url.URL, file string) error {
	ctx, cancel := context.WithTimeout(ctx, downloadPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("--from %s: %w", u.Redacted(), err)
	}
	i.say("fetching %s", u.Redacted())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // without the URL, which may have a password
		}
		return fmt.Errorf("--from %s: %w", u.Redacted(), err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("--from %s: the server answers %s", u.Redacted(), response.Status)
	}
	return i.unpack(response.Body, u.Redacted(), file)
}

// gzipMagic begins every gzip file (RFC 1952).
const gzipMagic = "\x1f\x8b"

// unpack writes the library to file and checks it. in is the library itself, or a compressed
// archive with it.
func (i *Installer) unpack(in io.Reader, name, file string) error {
	source := bufio.NewReaderSize(io.LimitReader(in, i.Pin.LibraryBytes+archiveOverhead), 1<<20)
	head, err := source.Peek(len(gzipMagic))
	if err != nil {
		return fmt.Errorf("%w: %s is empty", ErrWrongLibrary, name)
	}
	if string(head) != gzipMagic {
		return i.write(source, name, file)
	}
	unzipped, err := gzip.NewReader(source)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	archive := tar.NewReader(unzipped)
	for range entriesBound {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if header.Typeflag == tar.TypeReg && path.Base(header.Name) == libraryName {
			return i.write(archive, name, file)
		}
	}
	return fmt.Errorf("%w: %s holds no %s", ErrWrongLibrary, name, libraryName)
}

// write copies the library to file, compares size and hash with the pin, and syncs the file.
func (i *Installer) write(in io.Reader, name, file string) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // a path of our own; a library is for every user
	if err != nil {
		return fmt.Errorf("write libchdb: %w", err)
	}
	defer func() { _ = out.Close() }()
	hash := sha256.New()
	// One byte more than the pin says is enough to notice a longer file.
	n, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(in, i.Pin.LibraryBytes+1))
	if err != nil {
		return fmt.Errorf("copy libchdb from %s: %w", name, err)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); n != i.Pin.LibraryBytes || sum != i.Pin.LibrarySHA256 {
		return fmt.Errorf("%w: %s holds %d bytes with SHA-256 %s, the pin of %s is %d bytes with %s",
			ErrWrongLibrary, name, n, sum, i.Pin.Version, i.Pin.LibraryBytes, i.Pin.LibrarySHA256)
	}
	if err := out.Chmod(0o755); err != nil {
		return fmt.Errorf("write libchdb: %w", err)
	}
	if err := out.Sync(); err != nil {
		return fmt.Errorf("write libchdb: %w", err)
	}
	return out.Close()
}

func (i *Installer) say(format string, args ...any) {
	_, _ = fmt.Fprintf(i.Log, "libchdb: "+format+"\n", args...)
}

// firstLine returns the first line of a program's error output.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if line == "" {
		return "it said nothing"
	}
	return line
}
