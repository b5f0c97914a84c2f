package scale

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// WorkerNumber is the number of this process's worker, from 0: the one that was given, if it is not below 0, or the
// one that the engine that started the process says by variables of its environment. Those are JOB_COMPLETION_INDEX of
// Kubernetes, SLURM_PROCID of a task of Slurm's, and SLURM_ARRAY_TASK_ID of a job array's.
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
			first, _ = strconv.Atoi(os.Getenv("SLURM_ARRAY_TASK_MIN")) // 0 without it
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
