package scale

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// WorkerNumber returns the number of this process's worker, from 0. It is given, unless that is negative. Otherwise it
// is taken from environment variables that engines set: JOB_COMPLETION_INDEX (Kubernetes), SLURM_PROCID (a task of
// Slurm), or SLURM_ARRAY_TASK_ID (a job array of Slurm).
func WorkerNumber(given int) (int, error) {
	if given >= 0 {
		return given, nil
	}
	first := 0
	variable := "JOB_COMPLETION_INDEX"
	if os.Getenv(variable) == "" {
		variable = "SLURM_PROCID"
		if os.Getenv("SLURM_ARRAY_TASK_ID") != "" && os.Getenv("SLURM_NTASKS") != "" && os.Getenv("SLURM_NTASKS") != "1" {
			return 0, errors.New(
				"this is a task of a step in a job array, which both have numbers; say which worker it is with --index")
		}
		if os.Getenv("SLURM_ARRAY_TASK_ID") != "" {
			variable = "SLURM_ARRAY_TASK_ID"
			first, _ = strconv.Atoi(os.Getenv("SLURM_ARRAY_TASK_MIN")) // 0 if it isn't set
		}
	}
	text := os.Getenv(variable)
	if text == "" {
		return 0, errors.New(
			"no engine has given this worker a number (JOB_COMPLETION_INDEX, SLURM_PROCID, SLURM_ARRAY_TASK_ID); give it with --index, from 0")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < first {
		return 0, fmt.Errorf("%s is %q, which is no number of a worker; give it with --index, from 0", variable, text)
	}
	return n - first, nil
}
