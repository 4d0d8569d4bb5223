package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/meter"
)

// checkLog checks the log before kfake opens it: kfake would cut the log off at the first batch
// that it cannot read. Closed segments whose files have not changed since the state file described
// them are left to verifyClosed. checkLog returns a *StartError with ErrDamaged for damage that no
// crash explains, and one with ErrRepairPending if a repair is not done and this start is not part
// of it.
func (b *Broker) checkLog(dir *dataDir) (*segments.Tracker, *segments.Report, error) {
	if pending, err := segments.ReadPending(dir.path); err != nil || pending != nil && !b.cfg.Repairing {
		return nil, nil, &StartError{Reason: ErrRepairPending, Where: dir.path, Cause: err, Do: repairCommand(dir.path)}
	}
	begin := time.Now()
	report, err := segments.CheckOpen(dir.path, b.meter)
	if err != nil {
		return nil, nil, fmt.Errorf("embedded kafka: check the log: %w", err)
	}
	if err := refuseDamage(dir.path, report); err != nil {
		return nil, nil, err
	}
	logNotices(b.logger, report)
	b.metrics.lost.Set(float64(len(report.Lost)))
	for _, lost := range report.Lost {
		b.logger.Warn("records were lost to damage on disk", "topic", lost.Topic, "partition", lost.Partition, "from_offset", lost.From, "to_offset", lost.To)
	}
	if err := report.Prepare(dir.path); err != nil {
		return nil, nil, fmt.Errorf("embedded kafka: %w", err)
	}
	tracker, err := segments.Track(dir.path, report)
	if err != nil {
		return nil, nil, fmt.Errorf("embedded kafka: %w", err)
	}
	b.logger.Info("embedded kafka has checked its log", "bytes", report.Bytes, "unread", report.Unread(), "seconds", time.Since(begin).Seconds())
	return tracker, report, nil
}

// verifyClosed reads the closed segments that checkLog did not read. It runs while the broker
// serves. If a segment is damaged, it returns a *StartError with ErrDamaged, and the next start
// reads that segment, too.
func (b *Broker) verifyClosed(ctx context.Context, dir *dataDir, report *segments.Report, tracker *segments.Tracker) error {
	if report.Unread() == 0 {
		return nil
	}
	found, err := report.Verify(ctx, dir.broker())
	if err != nil {
		return fmt.Errorf("embedded kafka: %w", err)
	}
	if found == nil {
		if ctx.Err() == nil {
			b.logger.Info("embedded kafka has read its closed segments", "bytes", report.Unread())
		}
		return nil
	}
	if err := tracker.Distrust(found); err != nil {
		b.logger.Warn("embedded kafka notes what is on disk", "ok", false, "err", err)
	}
	return refuseDamage(dir.path, &segments.Report{Damages: []segments.Damage{found.Damage}})
}

// refuseDamage returns a *StartError if the report has damage.
func refuseDamage(path string, report *segments.Report) error {
	if len(report.Damages) == 0 {
		return nil
	}
	return &StartError{Reason: ErrDamaged, Where: path, Do: report.Summary() + "; nothing was changed; " + repairCommand(path)}
}

func repairCommand(path string) string {
	return fmt.Sprintf("run `mintlake repair --data-dir %s`, which keeps the old bytes and has the chain read again where it can be (docs/kafka.md)", filepath.Dir(path))
}

func logNotices(logger *slog.Logger, report *segments.Report) {
	for _, notice := range report.Notices {
		logger.Warn("embedded kafka puts its log in order", "err", notice)
	}
}

// trackLog updates the tracker every stateInterval until ctx ends. It logs when updates begin to
// fail and when they succeed again.
func (b *Broker) trackLog(ctx context.Context, tracker *segments.Tracker) {
	ticker := time.NewTicker(b.cfg.stateInterval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := b.reportDeleted(tracker.Update())
		if (err != nil) != failing {
			failing = err != nil
			b.logger.Warn("embedded kafka notes what is on disk", "ok", err == nil, "err", err)
		}
	}
}

// reportDeleted takes the results of Tracker.Update or Tracker.Stop. It counts and logs the deleted
// topics, and returns err unchanged.
func (b *Broker) reportDeleted(gone []string, err error) error {
	for _, topic := range gone {
		b.metrics.deleted.Inc()
		b.logger.Error("a topic with records was deleted: the log is not whole any more", "topic", topic)
	}
	return err
}

// control makes kfake apply the rules of policy.go to requests that create or alter topics. Before
// kfake serves such a request or deletes a topic, the tracker also notes that the list of topics
// changes. Before a topic is altered, it notes which records are gone.
func (b *Broker) control(cluster *kfake.Cluster, tracker *segments.Tracker) {
	rules := map[int16]func(kmsg.Request) kmsg.Response{
		keyCreateTopics: func(req kmsg.Request) kmsg.Response {
			if create, ok := req.(*kmsg.CreateTopicsRequest); ok {
				if resp := refuseCreateTopics(create); resp != nil {
					return resp
				}
			}
			return nil
		},
		keyIncrementalAlterConfigs: func(req kmsg.Request) kmsg.Response {
			if alter, ok := req.(*kmsg.IncrementalAlterConfigsRequest); ok {
				if resp := refuseIncrementalAlter(alter); resp != nil {
					return resp
				}
			}
			// What was removed so far had expired by the old retention. By the new one the tracker
			// may take it for lost.
			if err := b.reportDeleted(tracker.Update()); err != nil {
				b.logger.Warn("embedded kafka notes what is on disk", "ok", false, "err", err)
			}
			return nil
		},
		keyDeleteTopics: func(kmsg.Request) kmsg.Response { return nil },
	}
	for key, rule := range rules {
		cluster.ControlKey(key, func(req kmsg.Request) (kmsg.Response, error, bool) {
			// Otherwise kfake would drop this function after it has refused one request.
			cluster.KeepControl()
			if resp := rule(req); resp != nil {
				return resp, nil, true
			}
			if err := tracker.TopicsChange(); err != nil {
				b.logger.Warn("embedded kafka notes what is on disk", "ok", false, "err", err)
			}
			return nil, nil, false
		})
	}
}

// Log is the log of a broker that is not running, for reading only.
type Log struct {
	report *segments.Report
	path   string
	lock   *os.File
}

// OpenLog opens the data folder of a broker that is not running, and keeps brokers out until Close.
// It writes nothing, neither there nor elsewhere. It returns a *StartError with ErrLocked if a
// broker uses the folder, with ErrDamaged if the log is damaged, and with ErrForeign or ErrFormat
// if the folder is not one of this broker. logger may be nil. progress is passed to segments.Check.
func OpenLog(path string, logger *slog.Logger, progress meter.Meter) (*Log, error) {
	report, lock, err := inspect(path, progress)
	if err != nil {
		return nil, err
	}
	if err := refuseDamage(path, report); err != nil {
		_ = lock.Close()
		return nil, err
	}
	if logger != nil {
		for _, notice := range report.Notices {
			logger.Warn("the log is read without what a crash left of it", "err", notice)
		}
	}
	return &Log{report: report, path: path, lock: lock}, nil
}

// inspect locks a data folder and checks its log. The lock is shared: it keeps brokers out and lets
// other readers in. The caller closes the returned lock file.
func inspect(path string, progress meter.Meter) (*segments.Report, *os.File, error) {
	if err := checkOwner(path); err != nil {
		return nil, nil, err
	}
	lock, err := os.Open(filepath.Join(path, lockName))
	if err != nil {
		return nil, nil, fmt.Errorf("embedded kafka: open lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		err := lockError(path, lock, err)
		_ = lock.Close()
		return nil, nil, err
	}
	report, err := segments.Check(path, progress)
	if err != nil {
		_ = lock.Close()
		return nil, nil, fmt.Errorf("embedded kafka: check the log: %w", err)
	}
	return report, lock, nil
}

// Read calls visit for each record of the topics. The records of one partition come in the order of
// their offsets. visit must not keep the record.
func (l *Log) Read(ctx context.Context, topics []string, visit func(*segments.Record)) error {
	if err := l.report.Read(ctx, l.path, topics, visit); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// Records returns how many records the topics have. Lost records count, too.
func (l *Log) Records(topics []string) int64 { return l.report.Records(topics) }

// Close releases the lock that keeps brokers out.
func (l *Log) Close() { _ = l.lock.Close() }

// CheckLog reports what is damaged, and changes nothing. No broker may be running on the folder.
func CheckLog(path string, progress meter.Meter) (*segments.Report, error) {
	report, lock, err := inspect(path, progress)
	if err != nil {
		return nil, err
	}
	_ = lock.Close()
	return report, nil
}

// RepairLog repairs the folder of a broker that is not running; see segments.Repair. Until
// pending.Done is called, the broker starts only with Config.Repairing. If the log has no damage,
// pending is an earlier repair that is not done, or nil.
func RepairLog(path string, catalogue []segments.Topic, progress meter.Meter) (pending *segments.Pending, err error) {
	dir, err := openDataDir(path)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	report, err := segments.Check(path, progress)
	if err != nil {
		return nil, fmt.Errorf("embedded kafka: check the log: %w", err)
	}
	if len(report.Damages) == 0 {
		return segments.ReadPending(path)
	}
	return segments.Repair(path, report, catalogue, progress)
}
