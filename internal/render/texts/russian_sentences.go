package texts

// russianSentences are the sentences of verdicts and warnings, as far as they are known, by the shape
// in which records have them. What is joined by "; " stands here piece by piece.
var russianSentences = joined(russianVerdicts, russianFindings, russianTrials, russianRooms)

// russianVerdicts are those of verdicts and warnings.
var russianVerdicts = map[string]string{
	// Why a result stands, or doesn't.

	"%s of the operations failed, and without thresholds less than %s may": "не удалось %s операций, а без порогов допустимо меньше %s",
	"allow more with %s": "больше разрешает %s",

	"lower the rate, or give more sessions%s": "снизьте частоту запросов или дайте больше сеансов%s",

	"see the errors of class connect and the server's limit of connections": "см. ошибки класса connect и предел соединений сервера",
	"see the errors and the server's limit of connections":                  "см. ошибки и предел соединений сервера",

	"other processes had %s of the cores: %s":                                     "другие процессы заняли %s ядер: %s",
	"the hypervisor kept %s of the cores: %s":                                     "гипервизор удержал %s ядер: %s",
	"the generator waited for a core for %s of the time in which it had work: %s": "генератор ждал ядра %s времени, в которое ему было что делать: %s",

	"free this machine's cores, lower the load, or spread it over machines":                       "освободите ядра этой машины, снизьте нагрузку или разделите её между машинами",
	"free this machine's cores, lower the load, add event loops (%s), or spread it over machines": "освободите ядра этой машины, снизьте нагрузку, добавьте циклы событий (%s) или разделите её между машинами",

	// Warnings and what to do about them.

	"try %s, or lower the rate to what the server sustains": "попробуйте %s или снизьте частоту запросов до того, что сервер выдерживает",

	"see the errors of class connect and the server's log": "см. ошибки класса connect и журнал сервера",
	"see the errors and the server's log":                  "см. ошибки и журнал сервера",

	"throughput changed by %s %% over the run": "пропускная способность изменилась за прогон на %s %%",

	// What records say in a word.
	"receive times from the kernel": "время приёма от ядра",

	"all sessions busy": "все сеансы заняты", "nothing connected": "нет соединений",
	"the load was over": "нагрузка кончилась", "the generator was late": "генератор опоздал",
}
