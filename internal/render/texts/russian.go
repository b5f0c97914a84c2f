package texts

import "maps"

// russian is the catalogue of texts: English, which is the id, and Russian. Placeholders agree.
var russian = joined(russianSeries, russianReport, russianPage, russianInspect, russianCompare, russianFailures)

// russianReport are the texts of reports; russian holds them too.
var russianReport = map[string]string{
	// Headings and what they mean.
	"CONFIGURATION": "ЧТО ИСПЫТАНО", "TOTAL": "ИТОГ", "LATENCY": "ЗАДЕРЖКИ", "RESPONSE TIME": "ВРЕМЯ ОТКЛИКА",
	"SERVICE TIME": "ВРЕМЯ ОБСЛУЖИВАНИЯ",
	"PHASES":       "ЭТАПЫ", "ADDRESSES": "АДРЕСА", "CHANGES": "ИЗМЕНЕНИЯ", "EVENTS": "СОБЫТИЯ", "WATCHED": "НАБЛЮДЕНИЯ",
	"MACHINES": "МАШИНЫ", "ERRORS": "ОШИБКИ",
	"THRESHOLDS": "ПОРОГИ", "GENERATOR": "ГЕНЕРАТОР", "ENVIRONMENT": "СРЕДА", "WARNINGS": "ПРЕДУПРЕЖДЕНИЯ",
	"warm-up excluded": "без прогрева", "warm-up excluded; counters as rates": "без прогрева; счётчики в секунду",
	"warm-up excluded; counters as rates, those of k6 as sums":                                  "без прогрева; счётчики в секунду, у k6 всего",
	"what was done or decided meanwhile":                                                        "что было сделано или решено за это время",
	"hints, no proof: about one steady run in eight has one by chance":                          "догадки, не доказательства: примерно в одном ровном прогоне из восьми такое случайно",
	"response: from the intended start · service: from the actual send":                         "отклик: от намеченного начала · обслуживание: от самой отправки",
	"response: of all arrivals, ∞ without a good answer · service: of successes, from the send": "отклик: всех обращений, ∞ без верного ответа · обслуживание: успешных, от отправки",
	"closed load: sessions wait for answers, so response = service":                             "закрытая нагрузка: сеансы ждут ответов, отклик = обслуживание",
	"share of successful operations, and of all up to there":                                    "доля успешных операций и доля накопленных",
	"failed attempts, retried ones and connections included":                                    "неудачные попытки, включая повторы и соединения",
	"of the samples kept: there were at least so many":                                          "по сохранённым образцам: было не меньше",
	"response time": "время отклика", "service time": "время обслуживания",
	"± %s confidence within this run; another run may differ by more":   "± доверительный интервал %s внутри прогона; другой прогон может отличаться сильнее",
	"± %s confidence over these runs":                                   "± доверительный интервал %s по этим прогонам",
	"%s its values depend on those before: widened, perhaps not enough": "%s значения зависят от предыдущих: интервал расширен, возможно, недостаточно",
	"%s no interval: %s": "%s без интервала: %s",

	// Labels and heads.
	"target": "цель", "load": "нагрузка", "sessions": "сеансы", "timing": "часы", "seed": "зерно", "set-up": "подготовка",
	"command": "команда", "record": "запись",
	"rate": "частота", "done": "сделано", "done/s": "сделано/с", "due": "намечено", "failed": "неудачи",
	"time lost": "потеряно времени", "retries": "повторы",
	"unsent": "не отправлено", "in flight": "в пути", "late": "опоздания", "missing": "не найдено",
	"bad hash": "не тот хеш", "status": "статус", "received": "принято",
	"operation": "операция", "time": "время", "mean": "среднее", "max": "макс.", "all": "все", "response": "отклик",
	"of successes": "успешных", "service": "обслуживание",
	"phase": "этап", "length": "длина", "address": "адрес", "reconnects": "переподключения", "what": "что",
	"figure": "показатель", "first": "сначала", "last": "в конце",
	"change": "изменение", "lag p99": "запаздывание p99", "good to": "точность", "CPU": "процессор",
	"event loops": "циклы событий", "others": "прочие", "cores": "ядра",
	"memory": "память", "ceiling": "потолок", "throttled": "придержан", "stood still": "стоял", "machine": "машина",
	"part %d": "часть %d", "this one": "эта", "at most": "не более", "low priority": "с низким приоритетом",
	"disk wait": "ждали диск", "stolen": "отнято", "memory used": "памяти занято",
	"disk/s": "диск/с", "network/s": "сеть/с", "loopback/s": "петля/с", "load average": "средняя загрузка",
	"means without warm-up; processors in cores, the most memory used": "средние без прогрева; процессоры в ядрах, наибольшая занятая память", "system": "система", "server": "сервер",

	// Values and remarks.
	"pass": "пройдено", "fail": "не пройдено", "invalid": "недействительно",
	"open": "открытая", "closed": "закрытая", "mixed": "смешанная", "pause": "пауза", "codec": "быстром",
	"library":                                  "библиотечном",
	"open: arrivals follow the schedule":       "открытая: обращения идут по расписанию",
	"closed: sessions send when they are free": "закрытая: сеансы шлют, когда свободны",
	"open and closed phases":                   "открытые и закрытые этапы", "%d on the %s tier": "%d, на %s уровне",
	", up to %d requests in flight each": ", до %d запросов в пути у каждого",
	"%s over %s":                         "%s по %s", "%s at %s": "%s на %s", "and %d more": "и ещё %d",
	" after %s of warm-up":       " после %s прогрева",
	"%s in %s (%s) filled in %s": "%s, %s (%s), заполнено за %s", ", %s rows/s": ", %s строк/с",
	"succeeded": "успешных", "; others had %s of this machine": "; другие заняли %s этой машины",
	"succeeded, of %s offered (%s)": "успешных, из предложенных %s (%s)", "in %s": "за %s", "none": "нет",
	"%s ok + %s failed + %s unsent":                     "%s успешно + %s неудачно + %s не отправлено",
	" + %s in flight at the end":                        " + %s в пути под конец",
	", %s of them due in the warm-up":                   ", из них %s назначены на прогрев",
	"%s attempts in all":                                "всего попыток: %s",
	"arrivals given up without being sent: %s":          "обращения, от которых отказались до отправки: %s",
	"sent, and not answered when the load was cut off":  "отправлены, но без ответа, когда нагрузка прервалась",
	"%s sent more than 1 ms after their intended start": "%s отправлены более чем на 1 мс позже намеченного",
	"%s found no row or key: %s":                        "%s не нашли строки или ключа: %s",
	"%s of %s (%s)":                                     "%s из %s (%s)",
	"nothing succeeded: %s, the longest %s":             "ничего не удавалось: %s, дольше всего %s",
	"(warm-up)":                                         "(прогрев)", "poisson": "пуассоновский",
	"broken for %s in all": "нарушен в сумме %s",
	"ended the run":        "завершил прогон", "and %s": "и %s",
	"FAILOVER": "ПРОСТОИ", "FAILOVER, ALL FAULTS": "ПРОСТОИ, ВСЕ НЕИСПРАВНОСТИ",
	"least · median · most": "от · медиана · до",
	"an arrival is bad if it doesn't succeed within %s; outages from %s on": "обращение плохое, если не удалось за %s; простои от %s",
	"at": "когда", "detected": "замечено", "outage": "простой", "longest": "дольше всего", "brown-out": "частичный",
	"recovered": "восстановление", "unknown": "неизвестно", "waited": "ждали",
	"no outage": "простоев нет", "outage without a fault": "простой без неисправности", "(healing)": "(устранение)",
	"(invalid: the generator stood still)": "(недействителен: стоял генератор)", "not affected": "не затронуто",
	"never": "нет", "not before the next": "не раньше следующей", "%s, relapses: %d": "%s, срывов: %d",
	"fault": "неисправность", "n": "n",
	"and %s, see errors.ndjson": "и %s, см. errors.ndjson", "and %s, see %s": "и %s, см. %s", "record %s": "запись %s",
	"%s: --output text says more":  "%s: подробнее с --output text",
	"actual send − intended start": "отправка − намеченное начало",
	"; %s of the generator's own":  "; из них собственных %s", "± %s at p99": "± %s на p99",
	"± %s at p50: what the generator's own lag adds to times": "± %s на p50: столько добавляет к откликам запаздывание самого генератора",
	"%s at most, %s per operation":                            "не более %s, %s на операцию", "busy": "заняты",
	"%s at most": "не более %s",
	"%s of those that brunt may use; the hypervisor kept %s": "%s доступных brunt; гипервизор удержал %s",
	"%s, longest pause %s":                                    "%s, самая долгая пауза %s",
	"requests on average, by Little's law":                    "запросов в среднем, по закону Литтла",
	"; %s sessions connected of %d":                           "; подключено сеансов %s из %d",
	"this machine's own measured maximum; the run reached %s": "измеренный предел этой машины; прогон дошёл до %s",
	"by the control group's CPU limit":                        "пределом процессора группы управления",
	"suspended, stopped or starved":                           "приостановлен, остановлен или без процессора",
	"may sleep":                                               "могут спать", "kept awake": "не спали",
	"%s of idle priority used what nobody wanted": "%s низшего приоритета брали то, что никому не нужно",
	"; deep sleep prevented":                      "; глубокий сон запрещён",
	"; brunt ran with nice %d":                    "; brunt шёл с nice %d",
	", limited to %s":                             ", не более %s", ", governor %s": ", регулятор %s",
	"%s %s on %s":      "%s %s на %s",
	", in a container": ", в контейнере",
	"no samples":       "нет замеров", "leak: %s": "утечка: %s", "drift: %s": "снос: %s",
	"grew by %s, levelling off": "вырос на %s, выравнивается", "not judged: %s": "без оценки: %s", "steady": "ровно",
	"critical": "критично", "warning": "важно", "hint": "замечание",
	"collections": "сборки мусора", "throughput": "пропускная способность",
	"threads": "потоки", "processes": "процессы", "sockets": "сокеты", "tasks": "задачи", "goroutines": "горутины",
	"heap": "куча", "nonheap": "вне кучи",
	"%s in %s, **%s**, %s failed; %s load, %s; %s; seed %d.": "%s за %s, **%s**, неудач %s; нагрузка %s, %s; %s; зерно %d.",
	"**Time lost: %s**; %s.":                                 "**Потеряно времени: %s**; %s.",

	// What was looked at before a load.
	"subject": "предмет", "finding": "что найдено", "what to do": "что делать",

	// Adaptive loads.
	"ADAPTIVE LOAD": "ПОДСТРАИВАЕМАЯ НАГРУЗКА", "adaptive": "подстраиваемая", "goal": "цель", "method": "способ",
	"settled at": "установилась на", "spread": "разброс", "after": "после", "decisions": "решений",
	"not settled": "не установилась", "as much as response times allow": "сколько допускает время отклика",

	// Changes.
	"the generator itself stood still for %s (suspended, stopped or starved): what this interval shows is its own doing, not the server's": "сам генератор стоял %s (приостановлен, остановлен или без процессора): этот промежуток говорит о нём, а не о сервере",
	"pause: nothing succeeded for %s, after %s before": "пауза: ничего не удавалось %s, до того %s",
	"recovery: operations succeed again, %s":           "восстановление: операции снова удаются, %s",
	"%s rose from %s to %s":                            "%s: рост с %s до %s",
	"%s fell from %s to %s":                            "%s: падение с %s до %s",
	"start-up: %s":                                     "разгон: %s",
	"response p99":                                     "отклик p99", "share of failures": "доля неудач",

	// Progress.
	"%s failed": "неудач: %s", "%s failed (%s)": "неудач: %s (%s)", "p99 %s": "p99 %s", "%s": "%s",
	"backlog %s": "ждут %s", "%s left": "ещё %s",
	"fill %s": "заполнение %s", "%s rows/s": "%s строк/с", "%s of %s rows": "%s из %s строк",
	"check": "проверка", "%s of %s statements": "%s из %s запросов",
}

// russianNouns are the three forms of nouns after numbers, by the English plural.
var russianNouns = map[string][3]string{
	"trials":   {"испытание", "испытания", "испытаний"},
	"requests": {"запрос", "запроса", "запросов"}, "findings": {"замечание", "замечания", "замечаний"},
	"files and commands applied": {"файл или команда применены", "файла и команды применены", "файлов и команд применено"},
	"arrivals":                   {"обращение", "обращения", "обращений"},
	"collections":                {"сборка мусора", "сборки мусора", "сборок мусора"}, "cores": {"ядро", "ядра", "ядер"},
	"more rows": {"строка", "строки", "строк"}, "operations": {"операция", "операции", "операций"},
	"other kinds": {"другой вид", "других вида", "других видов"},
	"others":      {"другое", "других", "других"}, "rows": {"строка", "строки", "строк"},
	"sessions": {"сеанс", "сеанса", "сеансов"}, "tables": {"таблица", "таблицы", "таблиц"},
	"threads": {"поток", "потока", "потоков"}, "times": {"раз", "раза", "раз"},
	"samples": {"значение", "значения", "значений"}, "answers": {"ответ", "ответа", "ответов"},
	"connections were": {"соединение", "соединения", "соединений"},
	"operations were":  {"операция", "операции", "операций"},
	"reads":            {"чтение", "чтения", "чтений"}, "updates": {"обновление", "обновления", "обновлений"},
	"deletes":         {"удаление", "удаления", "удалений"},
	"thresholds hold": {"порог соблюдён", "порога соблюдены", "порогов соблюдены"},
	"runs":            {"прогон", "прогона", "прогонов"},
	"decisions":       {"решения", "решений", "решений"},
}

// russianSingular says which of russianNouns an English singular belongs to.
var russianSingular = map[string]string{
	"decision": "decisions", "session": "sessions", "operation": "operations", "sample": "samples", "answer": "answers",
	"connection was": "connections were",
	"operation was":  "operations were", "threshold holds": "thresholds hold", "time": "times", "row": "rows",
}

// russianPage are the texts of pages; russian holds them too.
var russianPage = map[string]string{
	"Over time": "Во времени", "The generator's machine": "Машина генератора", "Figures": "Показатели",
	"Machines": "Машины", "Environment": "Окружение",
	"Database": "База данных", "Changes": "Изменения", "Each run": "Каждый прогон",
	"Runs over each other": "Прогоны друг на друге",
	"Change from A to B":   "Изменение от A к B",
	"with its interval; what lies within the grey stretch doesn't matter": "с интервалом; что лежит в серой полосе, не важно",
	"%s of successes; %s had no answer":                                   "%s у успешных; без ответа %s",
	"The longest %d of %d standstills are drawn.":                         "Нарисованы самые долгие простои: %d из %d.",
	"Rate": "Частота запросов", "Response time": "Время отклика", "Failures": "Неудачи", "Sessions": "Сеансы",
	"Cores in use": "Занятые ядра", "Busiest event loop": "Самый занятый цикл событий",
	"Memory of brunt": "Память brunt", "Percentiles": "Перцентили",
	"Where response times lie": "Где лежат времена отклика", "Rates of all runs": "Частота запросов во всех прогонах",
	"Failed operations by class": "Неудачные операции по классам", "RUNS": "ПРОГОНЫ",
	"run": "прогон", "verdict": "вывод", "began": "начат", "no verdict": "без вывода",
	"of %s offered": "из предложенных %s", "%s of %s": "%s из %s",
	"what succeeded, and what fell due":                                      "что удалось и что было намечено",
	"of all arrivals; without a good answer it is infinite and leaves a gap": "всех обращений; без верного ответа оно бесконечно и оставляет разрыв",
	"a second, by class": "в секунду, по классам",
	"waiting for answers, and arrivals that wait to be sent":                                               "ждущие ответа и обращения, ждущие отправки",
	"by brunt, by others on this machine, and kept by the hypervisor":                                      "самим brunt, другими на этой машине, удержанные гипервизором",
	"the stronger the colour, the more answers; choose a window to see its percentiles below":              "чем насыщеннее цвет, тем больше ответов; выберите окно, чтобы увидеть ниже его перцентили",
	"each further nine takes as much room as the one before; the curve ends where there is no good answer": "каждая следующая девятка занимает столько же места; кривая кончается там, где нет верного ответа",
	"intervals are within each run; how runs differ among each other is another matter":                    "интервалы внутри каждого прогона; насколько прогоны различаются между собой, это другое",
	"The record has no intervals, so there is nothing to draw.":                                            "В записи нет промежутков, рисовать нечего.",
	"No operation failed; some attempts did and were repeated.":                                            "Ни одна операция не провалилась; некоторые попытки не удались и были повторены.",
	"UNDER WAY": "ИДЁТ", "figures so far, without warm-up; there is no verdict before the end": "показатели на сейчас, без прогрева; вывода нет до конца",
	"Checks that held": "Пройденные проверки",
	"share of those tried since the interval before": "доля от сделанных после предыдущего промежутка",
	"this machine": "этой машины", "Processors of %s": "Процессоры %s", "Memory of %s": "Память %s",
	"Disks and networks of %s": "Диски и сети %s",
	"cores; the area holds the extremes; threads that keep cores awake are of low priority": "ядра; в полосе крайние значения; потоки, не дающие ядрам уснуть, имеют низкий приоритет", "bytes a second": "байты в секунду", "read": "прочитано", "written": "записано", "sent": "отправлено",
	"The runs are not compared: %s.": "Прогоны не сравниваются: %s.",
	"nothing succeeded":              "ничего не удавалось", "the plan": "план", "all %s as CSV": "все %s в виде CSV",
	"those done most often; --output csv has all": "самые частые; все есть в --output csv",
	"window of time": "окно времени", "from": "от", "to": "до", "whole run": "весь прогон",
	"charts over time show": "графики по времени показывают",
	"stop the run":          "остановить прогон", "light / dark": "светло / темно",

	// The page's script.
	"achieved": "сделано", "offered": "предложено", "most of its intervals": "наибольший из промежутков",
	"least of its intervals":       "наименьший из промежутков",
	"sessions waiting for answers": "сеансы, ждущие ответа", "backlog": "ждут отправки", "hypervisor": "гипервизор",
	"busiest event loop": "самый занятый цикл событий",
	"quantile":           "квантиль", "response in the window": "отклик в окне", "window %s – %s: %s": "окно %s – %s: %s",
	"whole run%s%s: %s": "весь прогон%s%s: %s",
	"%s answers, %s without one · p50 %s · p90 %s · p99 %s · p99.9 %s": "%s ответов, %s без ответа · p50 %s · p90 %s · p99 %s · p99.9 %s",
	"the run has ended":                          "прогон закончился",
	"the connection to the run is lost":          "связь с прогоном потеряна",
	"stopping: answers under way are waited for": "останавливается: ждём ответов в пути",
}

// joined is the sum of catalogues.
func joined(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
