package explore

import (
	"fmt"
	"strings"

	"fencepost/lifecycle/pause"
)

// Start is where every operation waits before its first segment.
const Start pause.Point = "start"

// Choice is one step of a schedule: the thread that is let go, and the point at
// which it stood. The step ends when everything is parked, blocked or over.
type Choice struct {
	Thread string
	Point  pause.Point
}

// String returns "thread@point".
func (c Choice) String() string { return c.Thread + "@" + string(c.Point) }

// Schedule is the order in which threads were let go.
type Schedule []Choice

// String returns the steps with a blank between them; ParseSchedule reads it.
func (s Schedule) String() string {
	steps := make([]string, len(s))
	for i, c := range s {
		steps[i] = c.String()
	}
	return strings.Join(steps, " ")
}

// ParseSchedule reads what String wrote.
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	for _, step := range strings.Fields(text) {
		thread, point, ok := strings.Cut(step, "@")
		if !ok || thread == "" || point == "" {
			return nil, fmt.Errorf("step %q is not thread@point", step)
		}
		s = append(s, Choice{Thread: thread, Point: pause.Point(point)})
	}
	return s, nil
}
