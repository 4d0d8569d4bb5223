package clickhouse

import (
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Named is the argument for {name:Type} in a query. Numbers are sent as text, and a time in UTC to
// the second, as DateTime takes it.
func Named(name string, value any) driver.NamedValue {
	switch of := value.(type) {
	case uint64:
		value = strconv.FormatUint(of, 10)
	case int:
		value = strconv.Itoa(of)
	case time.Time:
		value = of.UTC().Format(time.DateTime)
	}
	return driver.NamedValue{Name: name, Value: value}
}
