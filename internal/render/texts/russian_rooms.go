package texts

// russianFailures are the texts of failures that brunt itself finds. What servers say stays as they say it.
var russianFailures = map[string]string{
	"no session is connected to any address":              "ни один сеанс не соединён ни с одним адресом",
	"the address that serves the request isn't connected": "нет соединения с адресом, который обслуживает запрос",
	"the codec lost its place in the answer":              "ответ не удалось разобрать",
	"the connection ended with an earlier answer":         "соединение закончилось с более ранним ответом",
	"the server closed the connection before it answered": "сервер закрыл соединение, не ответив",
	"the run was stopped before the answer came":          "прогон остановлен раньше, чем пришёл ответ",
	"no answer within the operation's timeout":            "нет ответа за отведённое время",
	"it may have been applied":                            "он мог исполниться",
	"other codes, not counted apart":                      "прочие коды, отдельно не подсчитаны",
}

// russianRooms are the sentences of warnings, notes and reasons that the rooms below the reports make.
var russianRooms = map[string]string{
	// Comparisons and intervals.
	"%s of %s runs is invalid, first %s: %s":  "недействительных прогонов: %s из %s, первый %s: %s",
	"%s of %s runs are invalid, first %s: %s": "недействительных прогонов: %s из %s, первый %s: %s",
	"leave them out": "не берите их",
	"%s of %s runs has no successful operation, first %s":  "прогонов без единой успешной операции: %s из %s, первый %s",
	"%s of %s runs have no successful operation, first %s": "прогонов без единой успешной операции: %s из %s, первый %s",
	"%s is named twice": "%s назван дважды",
	"%s of %s runs doesn't go with %s, first %s: they %s":                   "не сравнимы: %s из %s с %s, первый %s: они %s",
	"%s of %s runs don't go with %s, first %s: they %s":                     "не сравнимы: %s из %s с %s, первый %s: они %s",
	"are of %s and %s, which measure differently":                           "от программ %s и %s, которые измеряют по-разному",
	"differ in their load, which is %s and %s":                              "различаются нагрузкой: %s и %s",
	"have different plans: %s":                                              "по разным планам: %s",
	"were sent by different machines: %s %s and %s":                         "посланы с разных машин: %s: %s и %s",
	"one can't be read":                                                     "один не читается",
	"the servers of one side are %s":                                        "серверы одной стороны разные: %s",
	"--anyway takes them all the same":                                      "--anyway всё равно берёт их",
	"its record says no reason":                                             "причина в записи не названа",
	"%s was killed or interrupted: its figures are up to its last interval": "%s прерван или убит: показатели по последний записанный промежуток",
	"servers: %s → %s":                                                      "серверы: %s → %s",
	"sessions differ: %s":                                                   "число сеансов разное: %s",
	"kernels differ: %s":                                                    "ядра системы разные: %s",
	"frequency governors differ: %s":                                        "регуляторы частоты разные: %s",
	"seeds differ (%s → %s): other requests were sent":                      "зёрна разные (%s → %s): посланы другие запросы",
	"between-run variance unknown: repeat each side at least 5 times (there are %s and %s runs)": "разброс между прогонами неизвестен: повторите каждую сторону хотя бы 5 раз (прогонов сейчас: %s и %s)",
	"the runs have no metric in common":                           "у прогонов нет общих показателей",
	"%s for sure, but whether by more than the tolerance is open": "точно %s, но больше ли допуска, не решено",
	"script's plans": "планы сценария", "script's imports and data": "подключённое и данные сценария",
	"better": "лучше", "worse": "хуже", "processor": "процессор", "CPU limit": "предел процессора",
	"the rate of a run depends on the run before it (lag-1 autocorrelation %s): intervals may be too narrow": "частота запросов прогона зависит от предыдущего (автокорреляция %s): интервалы могут быть слишком узкими",
	"restore the same state before every run":                                    "перед каждым прогоном восстанавливайте одно и то же состояние",
	"one run says nothing of the next: intervals need at least 2 runs, better 5": "один прогон ничего не говорит о следующем: интервалам нужны хотя бы 2 прогона, лучше 5",
	"an interval of the median at %s needs at least %s runs, there are %s":       "интервалу медианы (%s) нужно прогонов не менее %s, а их %s",
	"no interval, judged by ranks: %s":                                           "без интервала, решено по рангам: %s",
	"a confidence interval needs at least 2 values, there are %s":                "доверительному интервалу нужно хотя бы 2 значения, а их %s",
	"a confidence interval needs finite values":                                  "доверительному интервалу нужны конечные значения",
	"a comparison of means needs finite values":                                  "для сравнения средних нужны конечные значения",
	"a comparison needs at least 2 values on each side, there are %s and %s":     "для сравнения нужно хотя бы по 2 значения с каждой стороны, а их %s и %s",
	"a ratio needs values above 0, one is %s":                                    "для отношения нужны значения больше 0, а одно равно %s",

	"some runs have a time without end, so there is no mean: this is the median":   "в некоторых прогонах время бесконечно, среднего нет: это медиана",
	"%d of %d base runs and %d of %d candidate runs have it, so it isn't compared": "есть в %d из %d прогонов базы и в %d из %d прогонов кандидата, поэтому не сравнивается",
	"not compared, because not all runs have it: %s":                               "не сравнивается, потому что есть не во всех прогонах: %s",
	"left out, because not all runs have it: %s":                                   "опущено, потому что есть не во всех прогонах: %s",

	// Tables that a load uses.

	"brunt schema down, then brunt schema up, make it anew":                                       "brunt schema down и затем brunt schema up создадут её заново",
	"brunt schema down, then brunt schema up, make it anew, if it must hold just the plan's rows": "brunt schema down и затем brunt schema up создадут её заново, если в ней должны быть только строки плана",

	// Sessions and clients.

	"TLS needs the library tier":                                 "для TLS нужен библиотечный уровень",
	"connections with TLS use the library tier":                  "соединения с TLS идут на библиотечном уровне",
	"option read_only needs the library tier":                    "для read_only нужен библиотечный уровень",
	"etcd's users need the library tier":                         "для пользователей etcd нужен библиотечный уровень",
	"option codec=off":                                           "параметр codec=off",
	"batches need the library tier":                              "для пакетов нужен библиотечный уровень",
	"a proxy needs the library tier":                             "для прокси нужен библиотечный уровень",
	"following redirects needs the library tier":                 "для перенаправлений нужен библиотечный уровень",
	"connecting when a request needs it is for the library tier": "соединяться по мере надобности умеет библиотечный уровень",
	"a connection for each request needs the library tier":       "для соединения на каждый запрос нужен библиотечный уровень",
	"requests to several hosts need the library tier":            "для запросов к нескольким узлам нужен библиотечный уровень",
	"capturing from a body needs the library tier":               "чтобы брать значения из тела ответа, нужен библиотечный уровень",
	"the hash of a packed body needs the library tier":           "для хеша сжатого тела нужен библиотечный уровень",
	"event loops need Linux":                                     "циклам событий нужен Linux",
	"echo has no TLS":                                            "у echo нет TLS",

	"the executor \"brunt-native\"": "исполнитель \"brunt-native\"",

	// What else is written, sent and watched.

	"no answer before the end": "не ответил до конца",

	"%s report lines were not printed: %s didn't take them": "строк отчёта не напечатано: %s: %s их не принял",
	"%s report line was not printed: %s didn't take them":   "строк отчёта не напечатано: %s: %s их не принял",

	"no such process":        "такого процесса нет",
	"%s garbage collections": "сборок мусора: %s",

	"%s samples":   "замеров: %s",
	"%s intervals": "промежутков: %s",

	"the control group's limit of tasks": "предела задач группы управления",
	"the control group's memory limit":   "предела памяти группы управления",
	"the machine's memory":               "памяти машины",
	"line %s of %s can't be read: what happened then is missing from these figures":                              "строка %s в %s не читается: того, что тогда было, в показателях нет",
	"%s lines, the first of them line %s, of %s can't be read: what happened then is missing from these figures": "строк, которые не читаются: %s, первая из них %s, в %s: того, что тогда было, в показателях нет",

	"standard output": "стандартный вывод", "standard error": "стандартный поток ошибок",
	"the tables' figures": "статистика таблиц", "the indexes' figures": "статистика индексов",
	"foreign keys": "внешние ключи", "the server's settings": "настройки сервера",
	"the statements' texts": "тексты запросов", "statistics of kind %s": "статистика вида %s",
	"it can't be read":              "не читается",
	"an application without a name": "приложение без имени",

	"%s is worse by %s": "%s хуже на %s",

	"the server's time for its statements changes by %s, between %s and %s (%s), the mean response time by %s, between %s and %s": "время сервера на его запросы меняется на %s, от %s до %s (%s), среднее время ответа на %s, от %s до %s",

	"%s figures are better, most of all %s: %s, between %s and %s": "улучшились показатели: %s, больше всего %s: %s, от %s до %s",
	"advisor: no index pays": "советник: ни один индекс не окупается",

	// Verdicts.

	"add event loops (%s), or use more machines": "добавьте циклы событий (%s) или возьмите больше машин",

	"lower the rate, or give more sessions%s, or say what may happen with %s 'dropped < 20%%'": "снизьте частоту запросов, дайте больше сеансов%s или разрешите потери, например %s 'dropped < 20%%'",
	"nothing succeeded: %s failed":                                                   "ничего не удалось: неудач %s",
	"nothing succeeded: %s failed, %s were never sent":                               "ничего не удалось: неудач %s, не отправлено %s",
	"nothing succeeded: %s failed, %s were in flight at the end":                     "ничего не удалось: неудач %s, в пути под конец %s",
	"nothing succeeded: %s failed, %s were never sent, %s were in flight at the end": "ничего не удалось: неудач %s, не отправлено %s, в пути под конец %s",

	"the rate is %s of this machine's measured ceiling of %s/s": "частота запросов составляет %s измеренного предела этой машины, %s/с",

	"%s errors are %s or more of the %s operations done":   "ошибок %s, это %s или больше от сделанных операций (%s)",
	"%s errors are %s or more of the %s queued operations": "ошибок %s, это %s или больше от операций в очереди (%s)",

	// Trials of a search.
	"%s: for want of sessions, so it is tried again with more":          "%s: не хватило сеансов, поэтому повторяется с большим числом",
	"%s: the target lets %s connect, so it is tried again with no more": "%s: цель принимает %s, поэтому повторяется не более чем с ними",
}
